/**
 * Goal: the compose files start what docs/operations.md describes, with no password of ours, no
 * right that is not needed, and as much time as a stop takes.
 * Method: they are parsed, and compared with that page, the Dockerfile and the limits.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { parseConfig } from '../../src/config.ts'
import {
  BODY_BYTES_MAX,
  POSTGRES_CONTROL_CONNECTIONS_MAX,
  POSTGRES_READ_CONNECTIONS_MAX,
  POSTGRES_WRITE_CONNECTIONS_MAX,
} from '../../src/limits.ts'
import { documentedGrants } from '../support/real-clickhouse.ts'

const DEPLOY = new URL('../../../deploy/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, DEPLOY), 'utf8')
const operations = read('../docs/operations.md')

interface ComposeService {
  readonly image: string
  readonly build?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly command?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: object
  readonly [key: string]: unknown
}

function servicesOf(file: string): Readonly<Record<string, ComposeService>> {
  return parse(read(file), { merge: true }).services
}

const stores = servicesOf('compose.stores.yaml')
const all = { ...servicesOf('compose.yaml'), ...stores }
const nodes = Object.entries(all).filter(([name]) => name.startsWith('sluice'))

test('every node is confined, has an init process, and the time that a stop takes', () => {
  assert.deepEqual(
    nodes.map(([name]) => name),
    ['sluice', 'sluice-1', 'sluice-2'],
  )
  for (const [name, service] of nodes) {
    assert.equal(service.init, true, name)
    assert.equal(service.read_only, true, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    assert.equal(service.stop_grace_period, `${/Allow (\d+) seconds/.exec(operations)![1]}s`)
    assert.equal(new URL(`${service.build}/Dockerfile`, DEPLOY).href, dockerfile().href)
  }
  const volumes = nodes.flatMap(([, service]) => service.volumes)
  assert.equal(new Set(volumes).size, nodes.length, 'each has who it is on a volume of its own')
  for (const volume of volumes) assert.match(volume ?? '', /^[\w-]+:\/var\/lib\/sluice$/)
})

function dockerfile(): URL {
  return new URL('../Dockerfile', DEPLOY)
}

test('images are of one version, and what is mounted is there', () => {
  for (const [name, { image, volumes = [], restart, mem_limit }] of Object.entries(all)) {
    assert.match(image, /:\d/, `${name}: ${image}`)
    assert.equal(restart, 'unless-stopped', name)
    assert.ok(mem_limit, `${name} has a bound of memory`)
    for (const volume of volumes.filter((one) => one.startsWith('.'))) {
      assert.ok(existsSync(new URL(volume.split(':')[0]!, DEPLOY)), volume)
      assert.match(volume, /:ro$/)
    }
  }
  const { version } = JSON.parse(read('../package.json'))
  for (const [, { image }] of nodes) assert.equal(image, `sluice:${version}`)
  assert.ok(statSync(new URL('stores/make-database.sh', DEPLOY)).mode & 0o111)
})

test('ports are open on this machine alone', () => {
  for (const { ports = [] } of Object.values(all)) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
  }
})

describe('stores', () => {
  test('the versions are those that were tried', () => {
    const [, postgres, clickhouse] = /Tried with PostgreSQL (\d+) and ClickHouse ([\d.]+)/.exec(
      operations,
    )!
    assert.equal(stores.postgres!.image, `postgres:${postgres}`)
    assert.equal(stores.clickhouse!.image, `clickhouse/clickhouse-server:${clickhouse}`)
  })

  test('passwords come from outside, and without one nothing starts', () => {
    const text = read('compose.stores.yaml')
    const used = [...text.matchAll(/\$\{(\w*PASSWORD\w*)(.?.?)/g)]
    assert.equal(new Set(used.map(([, name]) => name)).size, 3)
    for (const [whole, , operator] of used) assert.equal(operator, ':?', whole)
    assert.doesNotMatch(text, /PASSWORD\w*: (?!\$\{)/)
    for (const name of ['users.xml', 'make-database.sh']) {
      assert.doesNotMatch(read(`stores/${name}`), /<password>|PASSWORD '/, name)
    }
  })

  test('a node takes the URLs that it is given', () => {
    const given = { POSTGRES_PASSWORD: 'p0', CLICKHOUSE_PASSWORD: 'c0' }
    const env = Object.fromEntries(
      Object.entries(stores['sluice-1']!.environment ?? {}).map(([name, value]) => {
        return [
          name,
          value.replace(/\$\{(\w+):[^}]*\}/, (_, key: keyof typeof given) => given[key]),
        ]
      }),
    )
    const parsed = parseConfig([], env)
    assert.ok(parsed.kind === 'run')
    assert.deepEqual(parsed.config.warnings, [])
    assert.equal(parsed.config.postgresUrl, 'postgres://sluice:p0@postgres:5432/sluice')
    assert.equal(parsed.config.clickhouseUrl, 'http://sluice:c0@clickhouse:8123/sluice')
  })

  test('its user of ClickHouse has the documented rights and no others', () => {
    const granted = [...read('stores/users.xml').matchAll(/<query>(.+)<\/query>/g)]
    assert.deepEqual(
      granted.map(([, query]) => query),
      documentedGrants('sluice'),
    )
  })

  test('nodes wait for stores that answer, which have connections for all of them', () => {
    for (const name of ['postgres', 'clickhouse']) {
      assert.ok(stores[name]!.healthcheck, name)
      assert.equal(stores['sluice-1']!.depends_on![name]!.condition, 'service_healthy')
    }
    const max = Number(/max_connections=(\d+)/.exec(String(stores.postgres!.command))![1])
    const aNode = POSTGRES_CONTROL_CONNECTIONS_MAX + POSTGRES_READ_CONNECTIONS_MAX
    assert.ok(max >= 2 * (aNode + POSTGRES_WRITE_CONNECTIONS_MAX + 2) + 10)
  })

  test('the balancer knows the nodes, lets bodies pass and keeps back what is open to all', () => {
    const conf = read('stores/nginx.conf')
    const known = [...conf.matchAll(/^ +server (\S+):4800 /gm)].map(([, name]) => name)
    assert.deepEqual(known, ['sluice-1', 'sluice-2'])
    const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(conf)!
    assert.equal(Number(mebibytes) * 2 ** 20, BODY_BYTES_MAX)
    for (const path of ['healthz', 'readyz', 'metrics']) {
      assert.ok(conf.includes(`location = /${path} { return 403; }`), path)
    }
    assert.match(conf, /proxy_http_version 1\.1;\n +proxy_set_header Connection "";/)
  })
})
