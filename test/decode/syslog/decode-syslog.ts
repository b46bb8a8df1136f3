/** The decoder of syslog as a worker has it, and records as listeners write them. */
import assert from 'node:assert/strict'
import { syslogDecoder } from '../../../workers/decode/syslog/syslog-decoder.ts'
import { TAPE_PADDING } from '../../../workers/tape/json-tape.ts'
import { decodeGenerated, type GeneratedEvents, target } from '../generated-events.ts'

export interface SentMessage {
  readonly text: string | Uint8Array
  readonly peer?: string | Uint8Array
  readonly isCut?: boolean
}

/** A time in winter, and one in summer. */
export const RECEIVED = Date.parse('2026-11-27T12:00:00Z')

const decode = syslogDecoder.create(target)
const settings = { parseUserAgents: false, redactSensitive: false, redactFields: [] }
const OPTIONS = { timeZone: 'UTC', receivedAtMs: RECEIVED }

/** The body of a part. */
export function encodeRecords(messages: readonly SentMessage[]): Buffer {
  const records = messages.map(({ text, peer = '', isCut = false }) => {
    const address = Buffer.from(peer as string)
    const bytes = Buffer.from(text as string)
    const head = Buffer.alloc(6)
    head.writeUInt32LE(2 + address.length + bytes.length)
    head[4] = isCut ? 1 : 0
    head[5] = address.length
    return Buffer.concat([head, address, bytes])
  })
  return Buffer.concat(records)
}

/** Decodes records. */
export function decodeSyslog(
  messages: readonly SentMessage[],
  options: Partial<typeof OPTIONS> = {},
): GeneratedEvents {
  return decodeBody(encodeRecords(messages), options)
}

export function decodeBody(
  bytes: Uint8Array,
  options: Partial<typeof OPTIONS> = {},
): GeneratedEvents {
  const { timeZone, receivedAtMs } = { ...OPTIONS, ...options }
  const part = { framing: 'syslog', start: 0, end: bytes.length, options: { timeZone } }
  return decodeGenerated(bytes, bytes.length, (held) => {
    return decode(held, part, { settings, receivedAtMs, items: undefined })
  })
}

/** Decodes records for nothing but what the worker learns of them. */
export function learn(messages: readonly SentMessage[]): void {
  const { tape, events, generated } = target
  const bytes = encodeRecords(messages)
  events.reset()
  generated.reset()
  tape.begin(generated.bytes)
  const held = tape.batch.hold(
    Buffer.concat([bytes, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)]),
  )
  const part = { framing: 'syslog', start: 0, end: bytes.length }
  const outcome = decode(held, part, { settings, receivedAtMs: RECEIVED, items: undefined })
  assert.equal(outcome.accepted, messages.length)
}

/** The event of one message, with its time as `time`: digits of nanoseconds. */
export function eventOf(
  text: string | Uint8Array,
  options: Partial<typeof OPTIONS & SentMessage> = {},
): Record<string, unknown> {
  const { events, times } = decodeSyslog([{ ...options, text }], options)
  const event = JSON.parse(events[0]!) as Record<string, unknown>
  return times[0] === undefined ? event : { ...event, time: isoOf(times[0]) }
}

/** Nanoseconds since 1970 as ISO 8601; the fraction as long as it has to be. */
export function isoOf(nanos: string): string {
  const ns = BigInt(nanos)
  const ms = ns / 1_000_000n - (ns % 1_000_000n < 0n ? 1n : 0n)
  const text = new Date(Number(ms)).toISOString().slice(0, -1)
  const rest = String(ns - ms * 1_000_000n).padStart(6, '0')
  return (
    `${text}${rest}`.replace(/\.?0*$/, (end) => (end.length > 9 ? '' : end.replace(/0+$/, ''))) +
    'Z'
  )
}
