/**
 * Makes OTLP export requests, in their JSON form, of the corpus's events: as a collector in front
 * of a fleet sends them, records of many hosts in a request, those of a host under one resource.
 */
const SEVERITY_NUMBERS = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }
/** Members that become attributes of the resource, under the names of OpenTelemetry. */
const RESOURCE_NAMES = {
  service: 'service.name',
  host: 'host.name',
  region: 'cloud.region',
  version: 'service.version',
}

export function makeExportRequest(events) {
  const byHost = new Map()
  for (const event of events) {
    const attributes = Object.keys(RESOURCE_NAMES)
      .filter((name) => event[name] !== undefined)
      .map((name) => ({ key: RESOURCE_NAMES[name], value: toValue(event[name]) }))
    const identity = JSON.stringify(attributes)
    const known = byHost.get(identity)
    if (known === undefined) byHost.set(identity, { attributes, logRecords: [toRecord(event)] })
    else known.logRecords.push(toRecord(event))
  }
  return {
    resourceLogs: [...byHost.values()].map(({ attributes, logRecords }) => ({
      resource: { attributes },
      scopeLogs: [{ scope: { name: 'load-tests' }, logRecords }],
    })),
  }
}

/** Every member finds its place: what has none of its own becomes an attribute. */
function toRecord(event) {
  const { timestamp, level, message, trace, ...rest } = event
  const ms = Date.parse(timestamp)
  const timeUnixNano = `${Number.isNaN(ms) ? Date.now() : ms}000000`
  const attributes = []
  for (const [key, value] of Object.entries(rest)) {
    if (RESOURCE_NAMES[key] === undefined) addAttributes(attributes, key, value)
  }
  const { trace_id: traceId, span_id: spanId, ...restOfTrace } = trace ?? {}
  for (const [key, value] of Object.entries(restOfTrace)) {
    addAttributes(attributes, `trace.${key}`, value)
  }
  return {
    timeUnixNano,
    observedTimeUnixNano: timeUnixNano,
    severityNumber: SEVERITY_NUMBERS[level] ?? 0,
    severityText: String(level ?? ''),
    body: toValue(typeof message === 'string' ? message : JSON.stringify(message ?? '')),
    attributes,
    ...(isHex(traceId, 32) ? { traceId } : {}),
    ...(isHex(spanId, 16) ? { spanId } : {}),
  }
}

/** Attributes are flat: an object's members are named with a dot. */
function addAttributes(attributes, key, value) {
  if (value === null) return
  if (typeof value !== 'object' || Array.isArray(value)) {
    attributes.push({ key, value: toValue(value) })
    return
  }
  for (const [name, child] of Object.entries(value)) {
    addAttributes(attributes, `${key}.${name}`, child)
  }
}

function toValue(value) {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toValue) } }
  return { stringValue: JSON.stringify(value) }
}

function isHex(text, length) {
  return typeof text === 'string' && text.length === length && /^[0-9a-f]+$/.test(text)
}
