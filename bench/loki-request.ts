/** The corpus as Loki's clients push it: one stream of lines, at times a millisecond apart. */
import snappy from 'snappyjs'
import { pushVaruint } from '../src/model/varuint.ts'

const FIRST_MS = 1_767_323_045_000
const LABELS = { app: 'bench', host: 'web-1' }
const TAG_STREAMS = 0x0a
const TAG_LABELS = 0x0a
const TAG_ENTRIES = 0x12
const TAG_TIMESTAMP = 0x0a
const TAG_LINE = 0x12
const TAG_SECONDS = 0x08
const TAG_NANOS = 0x10

export function lokiJson(lines: readonly string[]): Buffer {
  const values = lines.map((line, i) => [`${FIRST_MS + i}000000`, line])
  return Buffer.from(JSON.stringify({ streams: [{ stream: LABELS, values }] }))
}

/** Protobuf in raw snappy. */
export function lokiProtobuf(lines: readonly string[]): Buffer {
  const labels = Object.entries(LABELS).map(([name, value]) => `${name}="${value}"`)
  const entries = lines.map((line, i) => {
    const ms = FIRST_MS + i
    const seconds = [TAG_SECONDS, ...varint(Math.floor(ms / 1000))]
    const time = [...seconds, TAG_NANOS, ...varint((ms % 1000) * 1_000_000)]
    const fields = [field(TAG_TIMESTAMP, Buffer.from(time)), field(TAG_LINE, Buffer.from(line))]
    return field(TAG_ENTRIES, Buffer.concat(fields))
  })
  const text = field(TAG_LABELS, Buffer.from(`{${labels.join(', ')}}`))
  const request = field(TAG_STREAMS, Buffer.concat([text, ...entries]))
  return Buffer.from(snappy.compress(request))
}

/** The same content as JSON lines: what a sender of ours would write. */
export function sameAsJsonLines(lines: readonly string[]): Buffer {
  const events = lines.map((message, i) => {
    const timestamp = new Date(FIRST_MS + i).toISOString()
    return JSON.stringify({ timestamp, ...LABELS, message })
  })
  return Buffer.from(`${events.join('\n')}\n`)
}

function field(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.from([tag, ...varint(bytes.length)]), bytes])
}

function varint(value: number): number[] {
  const bytes: number[] = []
  pushVaruint(bytes, value)
  return bytes
}
