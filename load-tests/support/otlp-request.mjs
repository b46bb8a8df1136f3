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

/** Attributes that have members of a record, with their hexadecimal digits. */
const TRACE_IDS = [
  ['trace.trace_id', 'traceId', 32],
  ['trace.span_id', 'spanId', 16],
]

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

/** Every member but null finds its place: what has none of its own becomes an attribute. */
function toRecord(event) {
  const { timestamp, level, message, ...rest } = event
  const ms = Date.parse(timestamp)
  const timeUnixNano = `${Number.isNaN(ms) ? Date.now() : ms}000000`
  const attributes = []
  for (const [key, value] of Object.entries(rest)) {
    if (!Object.hasOwn(RESOURCE_NAMES, key)) addAttributes(attributes, key, value)
  }
  const ids = takeTraceIds(attributes)
  return {
    timeUnixNano,
    observedTimeUnixNano: timeUnixNano,
    ...(Object.hasOwn(SEVERITY_NUMBERS, level) ? { severityNumber: SEVERITY_NUMBERS[level] } : {}),
    ...(level ? { severityText: String(level) } : {}),
    body: toValue(message ?? ''),
    attributes,
    ...ids,
  }
}

/** Moves those that are ids out of the attributes. */
function takeTraceIds(attributes) {
  const ids = {}
  for (const [name, member, length] of TRACE_IDS) {
    const index = attributes.findIndex(({ key }) => key === name)
    const text = attributes[index]?.value.stringValue
    if (!isHex(text, length)) continue
    ids[member] = text
    attributes.splice(index, 1)
  }
  return ids
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
