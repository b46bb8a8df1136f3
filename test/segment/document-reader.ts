/**
 * A reader of stored segments that was written from `docs/segment-format.md` alone: plain
 * TypeScript, brotli of Node, and nothing of Sluice's own code. That it agrees with the service on
 * every fixture shows that the page says everything (`frozen.test.ts`).
 */
import { brotliDecompressSync } from 'node:zlib'

export interface DocumentLabels {
  readonly level?: string
  readonly service?: string
  readonly traceId?: string
  readonly spanId?: string
}

export interface DocumentEvent {
  readonly text: string
  /** Only of events that have one. */
  readonly time?: { readonly ms: number; readonly nanos: number }
  readonly labels?: DocumentLabels
}

/** A segment of a row, or a run of a mixed one. */
export interface DocumentMember {
  /** Only of a mixed row. */
  readonly streamId?: number
  readonly segmentId: bigint
  readonly events: number
}

/** What of the format a payload uses, for those who ask whether fixtures have all of it. */
export interface PayloadTraits {
  flags: number
  templates: number
  hasRaw: boolean
  readonly kinds: number[]
  /** Bits of a dictionary's numbers. */
  readonly widths: number[]
}

const FORMAT = 2
const LABELLED_FORMAT = 3
const TIMES = 1
const COLUMNS = 2
const PACKED = 4
const LABELS = 8
const LEVELS = ['', 'trace', 'debug', 'info', 'warn', 'error', 'fatal']
const TEXT_BYTES_MAX = 512 * 1024 * 1024
const TIME_MS_MAX = 9_223_372_036_854
const TIME_BYTES = 16
const PADDING = 8
const LINE_FEED = 10
const HEXADECIMAL = 1
const UUID = 2
const DICTIONARY = 4
const UUID_SHAPE = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

function refuse(why: string): never {
  throw new Error(`refused: ${why}`)
}

/** Takes bytes from the front. */
class Taker {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) refuse('ends too early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  u8(): number {
    return this.take(1).readUInt8()
  }

  u32(): number {
    return this.take(4).readUInt32LE()
  }

  varuint(bytesMax: number): number {
    let value = 0
    for (let i = 0; i < bytesMax; i++) {
      const byte = this.u8()
      value += (byte % 128) * 128 ** i
      if (byte < 128) return value
    }
    return refuse('a varuint goes on too long')
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }
}

/** What of the format it uses. Throws as `readPayload` does. */
export function traitsOf(payload: Buffer): PayloadTraits {
  const traits = { flags: 0, templates: 0, hasRaw: false, kinds: [], widths: [] }
  readPayload(payload, traits)
  return traits
}

/** The events of a payload. Throws on what the page says a reader must refuse. */
export function readPayload(payload: Buffer, traits?: PayloadTraits): DocumentEvent[] {
  const taker = new Taker(payload)
  const format = taker.u8()
  if (format !== FORMAT && format !== LABELLED_FORMAT) refuse('another format')
  const flags = taker.u8()
  if (flags > (TIMES | COLUMNS | PACKED | LABELS)) refuse('an unknown flag')
  if ((format === LABELLED_FORMAT) !== ((flags & LABELS) !== 0)) refuse('labels')
  if ((flags & PACKED) !== 0 && (flags & COLUMNS) === 0) refuse('packed without columns')
  if (traits !== undefined) traits.flags = flags
  const textBytes = taker.u32()
  if (textBytes > TEXT_BYTES_MAX) refuse('too large')
  const times = (flags & TIMES) !== 0 ? takeSection(taker) : undefined
  const labels = (flags & LABELS) !== 0 ? takeSection(taker) : undefined
  const packed = (flags & PACKED) !== 0 ? takeSection(taker) : undefined
  const plain = decompress(taker.take(taker.left))
  const text = (flags & COLUMNS) === 0 ? plain : readColumns(plain, packed, traits)
  if (text.length !== textBytes || text.at(-1) !== LINE_FEED) refuse('another length')
  const events = lines(text)
  const timeOf = times === undefined ? new Map() : readTimes(times, events.length)
  const labelsOf = labels === undefined ? new Map() : readLabels(labels, events.length)
  return events.map((event, i) => {
    const time = timeOf.get(i)
    const given = labelsOf.get(i)
    return { text: event, ...(time && { time }), ...(given && { labels: given }) }
  })
}

/** What `members` of a row says; `segmentId` is the row's. */
export function readMembers(
  members: Buffer,
  segmentId: bigint,
  isMixed: boolean,
): DocumentMember[] {
  const taker = new Taker(members)
  const all: DocumentMember[] = []
  let last = segmentId
  while (taker.left > 0) {
    const streamId = isMixed ? taker.varuint(8) : undefined
    last += BigInt(taker.varuint(8))
    const member = { segmentId: last, events: taker.varuint(8) }
    all.push(streamId === undefined ? member : { streamId, ...member })
  }
  return all
}

function takeSection(taker: Taker): Buffer {
  const length = taker.u32()
  if (length === 0) refuse('an empty section')
  return taker.take(length)
}

function decompress(body: Buffer): Buffer {
  const options = { info: true, maxOutputLength: TEXT_BYTES_MAX }
  const result: unknown = brotliDecompressSync(body, options)
  const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } }
  if (engine.bytesWritten !== body.length) refuse('something stands behind the brotli stream')
  return buffer
}

/** What stands before each LF. */
function lines(bytes: Buffer): string[] {
  if (bytes.length === 0) return []
  if (bytes.at(-1) !== LINE_FEED) refuse('no LF at the end')
  return bytes.toString('utf8').slice(0, -1).split('\n')
}

function readTimes(section: Buffer, events: number) {
  if (section.length % TIME_BYTES !== 0) refuse('part of a time')
  const times = new Map<number, { ms: number; nanos: number }>()
  let last = -1
  for (const taker = new Taker(section); taker.left > 0; ) {
    const ordinal = taker.u32()
    const ms = taker.take(8).readDoubleLE()
    const nanos = taker.u32()
    if (ordinal <= last || ordinal >= events) refuse('a time of no event')
    if (!Number.isInteger(ms) || Math.abs(ms) > TIME_MS_MAX || nanos > 999_999) refuse('no time')
    times.set(ordinal, { ms, nanos })
    last = ordinal
  }
  return times
}

function readLabels(section: Buffer, events: number): Map<number, DocumentLabels> {
  const taker = new Taker(section)
  const services: string[] = []
  for (let left = taker.varuint(5); left > 0; left--) {
    services.push(taker.take(taker.varuint(5)).toString('utf8'))
  }
  if (services.includes('')) refuse('a service without a name')
  const runs: { first: number; count: number; bits: number; service: string | undefined }[] = []
  let next = 0
  for (let left = taker.varuint(5); left > 0; left--) {
    const first = next + taker.varuint(5)
    const count = taker.varuint(5)
    const bits = taker.u8()
    if (bits === 0 || bits > 63 || (bits & 7) === 7 || count === 0) refuse('a run of nothing')
    next = first + count
    if (next > events) refuse('labels of no event')
    const service = bits & 8 ? (services[taker.varuint(5)] ?? refuse('no such service')) : undefined
    runs.push({ first, count, bits, service })
  }
  if (runs.length === 0) refuse('no runs')
  const labels = new Map<number, DocumentLabels>()
  const takeId = (length: number) => {
    const digits = taker.take(length).toString('hex')
    return /[^0]/.test(digits) ? digits : refuse('an id of zeros')
  }
  for (const { first, count, bits, service } of runs) {
    for (let ordinal = first; ordinal < first + count; ordinal++) {
      labels.set(ordinal, {
        ...(bits & 7 && { level: LEVELS[bits & 7]! }),
        ...(service !== undefined && { service }),
        ...(bits & 16 && { traceId: takeId(16) }),
        ...(bits & 32 && { spanId: takeId(8) }),
      })
    }
  }
  if (taker.left > 0) refuse('something stands behind the labels')
  return labels
}

interface Template {
  readonly isRaw: boolean
  readonly columns: readonly number[]
  readonly gaps: readonly string[]
}

function takeTemplate(taker: Taker): Template {
  const values = taker.varuint(5)
  const kind = taker.u8()
  if (kind > 1 || (kind === 1 && values > 0)) refuse('a kind of template')
  const columns: number[] = []
  const gaps: string[] = []
  for (let i = 0; i <= values; i++) {
    if (i < values) columns.push(taker.varuint(5))
    gaps.push(taker.take(taker.varuint(5)).toString('latin1'))
  }
  return { isRaw: kind === 1, columns, gaps }
}

/** The text of a column layout. Works on latin1, so that bytes stay bytes. */
function readColumns(layout: Buffer, packed?: Buffer, traits?: PayloadTraits): Buffer {
  const taker = new Taker(layout)
  const templates: Template[] = []
  for (let left = taker.varuint(5); left > 0; left--) templates.push(takeTemplate(taker))
  if (traits !== undefined) traits.templates = templates.length
  if (traits !== undefined) traits.hasRaw = templates.some(({ isRaw }) => isRaw)
  const events = taker.varuint(5)
  const templateOf = templates.length === 1 ? undefined : taker.take(events)
  const rawColumn = taker.varuint(5)
  const sizes: number[] = []
  for (let i = 0; i <= rawColumn; i++) sizes.push(taker.u32())
  const columns = takeColumns(taker, sizes, packed, events, traits)
  if (taker.left > 0) refuse('something stands behind the columns')
  const nextOf = columns.map(() => 0)
  const takeValue = (column: number) => {
    const value = columns[column]?.[nextOf[column]!++]
    return value ?? refuse('a value that is not there')
  }
  let text = ''
  for (let event = 0; event < events; event++) {
    const template = templates[templateOf?.[event] ?? 0] ?? refuse('a template that is not there')
    if (template.isRaw) text += takeValue(rawColumn)
    for (const [i, gap] of template.gaps.entries()) {
      text += gap
      if (i < template.columns.length) text += takeValue(template.columns[i]!)
    }
    text += '\n'
  }
  if (columns.some((values, column) => nextOf[column] !== values.length)) refuse('values left over')
  return Buffer.from(text, 'latin1')
}

/** The values of every column, the raw one included. */
function takeColumns(
  layout: Taker,
  sizes: readonly number[],
  section: Buffer | undefined,
  events: number,
  traits?: PayloadTraits,
): string[][] {
  const columns: string[][] = []
  const takePlain = () => {
    const size = sizes[columns.length] ?? refuse('a column that is not there')
    const bytes = layout.take(size)
    layout.take(PADDING)
    return latinLines(bytes)
  }
  if (section !== undefined) {
    const packed = new Taker(section)
    for (let kind = packed.u8(); kind !== 0; kind = packed.u8()) {
      traits?.kinds.push(kind)
      const column = packed.varuint(5)
      if (column < columns.length || column >= sizes.length - 1) refuse('a column out of order')
      while (columns.length < column) columns.push(takePlain())
      const size = sizes[column]!
      if (kind === HEXADECIMAL) columns.push(takeHexadecimal(packed, size, packed.varuint(5)))
      else if (kind === UUID) columns.push(takeHexadecimal(packed, size, 32, 36).map(dashed))
      else if (kind === DICTIONARY) columns.push(takeListed(packed, takePlain(), events, traits))
      else refuse('an unknown kind')
    }
    if (packed.left > 0) refuse('something stands behind the packed columns')
  }
  while (columns.length < sizes.length) columns.push(takePlain())
  return columns
}

function latinLines(bytes: Buffer): string[] {
  if (bytes.length > 0 && bytes.at(-1) !== LINE_FEED) refuse('half a value')
  return bytes.length === 0 ? [] : bytes.toString('latin1').slice(0, -1).split('\n')
}

/** Values of `digits` digits, which are `chars` characters in the text. */
function takeHexadecimal(packed: Taker, size: number, digits: number, chars = digits): string[] {
  const count = size / (chars + 1)
  if (digits === 0 || digits % 2 !== 0) refuse('an odd number of digits')
  if (count === 0 || !Number.isInteger(count)) refuse('part of a value')
  return Array.from({ length: count }, () => packed.take(digits / 2).toString('hex'))
}

function dashed(digits: string): string {
  return digits.replace(UUID_SHAPE, '$1-$2-$3-$4-$5')
}

function takeListed(
  packed: Taker,
  values: readonly string[],
  events: number,
  traits?: PayloadTraits,
): string[] {
  if (values.length === 0 || values.length > 255) refuse('no dictionary')
  const rows = packed.varuint(5)
  if (rows > events) refuse('more rows than events')
  let width = 0
  while (2 ** width < values.length) width++
  traits?.widths.push(width)
  const numbers = packed.take(Math.ceil((rows * width) / 8))
  return Array.from({ length: rows }, (_, row) => {
    let number = 0
    for (let bit = 0; bit < width; bit++) {
      const at = row * width + bit
      number += ((numbers[at >> 3]! >> (at & 7)) & 1) * 2 ** bit
    }
    return values[number] ?? refuse('a number without a value')
  })
}
