/** The corpus as OTLP requests: what a collector would send of the same logs. */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'

const PROTO = new URL('../../proto/otlp-logs.proto', import.meta.url)
export const otlpRequestType = protobuf
  .parse(readFileSync(PROTO, 'utf8'))
  .root.lookupType('sluice.otlp.ExportLogsServiceRequest')

/** `kvlist`: the event is the body. `text`: its message is, the rest are attributes. */
export type OtlpBody = 'kvlist' | 'text'

function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return value === null ? {} : { kvlistValue: { values: keyValues(value as object) } }
}

function keyValues(object: object): object[] {
  return Object.entries(object).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function logRecord(line: string, body: OtlpBody): object {
  const event = JSON.parse(line)
  const { message, ...rest } = event
  const content =
    body === 'kvlist'
      ? { body: anyValue(event) }
      : { body: anyValue(message), attributes: keyValues(rest) }
  const timeUnixNano = String(BigInt(Date.parse(event.timestamp ?? 0)) * 1_000_000n + 123_456n)
  return {
    timeUnixNano,
    observedTimeUnixNano: timeUnixNano,
    severityNumber: 9,
    severityText: 'INFO',
    ...content,
  }
}

const RESOURCE = {
  'service.name': 'checkout',
  'service.version': '4.12.0',
  'deployment.environment': 'production',
  'k8s.pod.name': 'checkout-7d9c6b5f4-x2x7p',
  'cloud.region': 'eu-west-1',
}

/** One request of all lines, as an object. */
export function otlpRequest(lines: readonly string[], body: OtlpBody): object {
  const logRecords = lines.map((line) => logRecord(line, body))
  const scopeLogs = [{ scope: { name: 'app' }, logRecords }]
  return { resourceLogs: [{ resource: { attributes: keyValues(RESOURCE) }, scopeLogs }] }
}

/** The same on the wire. */
export function otlpProtobuf(lines: readonly string[], body: OtlpBody): Buffer {
  const message = otlpRequestType.fromObject(otlpRequest(lines, body))
  return Buffer.from(otlpRequestType.encode(message).finish())
}
