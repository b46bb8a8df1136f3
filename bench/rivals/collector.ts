import type { Rival } from './rival.ts'

/** Receives, makes batches and throws them away: what receiving alone costs. */
export const collector: Rival = {
  name: 'collector',
  title: 'OpenTelemetry Collector, batch, discard',
  acknowledges: 'nothing kept',
  surface: 'otlp',
  path: '/v1/logs',
  configuration: (port) => `receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${port}
processors:
  batch:
exporters:
  nop:
service:
  telemetry:
    metrics:
      level: none
    logs:
      level: error
  pipelines:
    logs:
      receivers: [otlp]
      processors: [batch]
      exporters: [nop]
`,
  args: ({ configFile }) => ['--config', configFile],
  // It has no page for it; that only POST is allowed is said by a receiver that runs.
  ready: { path: '/v1/logs', status: 405 },
}
