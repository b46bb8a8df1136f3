/** Ready configurations that send to a stream; the same as docs/collectors/, the key filled in. */

export interface Snippet {
  readonly name: string
  readonly text: string
}

/** `service` is the service's address without a slash at its end. */
export function snippetsFor(service: string, key: string): readonly Snippet[] {
  const { hostname, port, protocol, pathname } = new URL(service)
  const actualPort = port || (protocol === 'https:' ? '443' : '80')
  const tls = protocol === 'https:'
  const path = pathname === '/' ? '' : pathname
  const more = [...(path === '' ? [] : [`path: ${path}`]), ...(tls ? ['tls: on'] : [])]
  return [
    { name: 'curl', text: curl(service, key) },
    {
      name: 'OTel Collector',
      text: `exporters:
  otlphttp:
    endpoint: ${service}/v1/otlp
    headers: { X-API-Key: ${key} }
    compression: gzip
    retry_on_failure: { enabled: true, max_elapsed_time: 0 }`,
    },
    {
      name: 'Fluent Bit',
      text: `pipeline:
  outputs:
    - name: es
      match: '*'
      host: ${hostname}
      port: ${actualPort}${more.map((line) => `\n      ${line}`).join('')}
      http_user: any
      http_passwd: ${key}
      index: logs
      suppress_type_name: on
      compress: gzip
      retry_limit: no_limits`,
    },
    {
      name: 'Vector',
      text: `sinks:
  sluice:
    type: elasticsearch
    inputs: [app]
    endpoints: [${service}]
    api_version: v8
    mode: bulk
    bulk: { action: create, index: logs }
    compression: gzip
    auth: { strategy: basic, user: any, password: ${key} }
    batch: { max_bytes: 5000000 }`,
    },
    {
      name: 'Filebeat',
      text: `output.elasticsearch:
  hosts: ["${protocol}//${hostname}:${actualPort}${path}"]
  username: any
  password: ${key}

setup.template.enabled: false
setup.ilm.enabled: false`,
    },
  ]
}

function curl(service: string, key: string): string {
  return `curl -sS ${service}/v1/ingest -H 'X-API-Key: ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"level":"info","message":"hello"}'`
}
