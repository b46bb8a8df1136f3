/**
 * Random OTLP requests on the wire, as odd as protobuf allows: fields in any order and more than
 * once, unknown ones, wrong wire types, groups, lengths in more bytes than they need.
 */
type Next = () => number

const WORDS = ['', 'a', 'key', 'http.method', 'ä', 'quo"te', 'back\\slash', 'x'.repeat(40)]
const TEXTS = ['', 'plain', 'line\nfeed\t\u0001', '"', '\\u0041', 'é€😀', 'long '.repeat(60)]
const BAD_TEXTS = [Buffer.of(0xff), Buffer.of(0x61, 0xc3, 0x62), Buffer.of(0xed, 0xa0, 0x80)]
const DOUBLES = [0, -0, 1.5, -0.1, 1e21, 1e-7, 123456.789, Number.NaN, -Infinity, 2 ** 63, 5e-324]
const INTS = [0n, 1n, -1n, 42n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 4294967296n]

export function varint(value: number | bigint, padding = 0): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  for (let i = 0; i < padding; i++) {
    bytes[bytes.length - 1]! |= 0x80
    bytes.push(0)
  }
  return Buffer.from(bytes)
}

export function lengthDelimited(field: number, contents: Uint8Array, padding = 0): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(contents.length, padding), contents])
}

export function fixed64(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value))
  return Buffer.concat([varint(field * 8 + 1), bytes])
}

export function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([varint(field * 8 + 1), bytes])
}

export class WireMaker {
  readonly #next: Next
  readonly #isOdd: boolean
  /** Whether the last request has a message in several pieces that counts once. */
  hasPieces = false

  /** `isOdd`: whether anything is made that no exporter would. */
  constructor(next: Next, isOdd: boolean) {
    this.#next = next
    this.#isOdd = isOdd
  }

  request(): Buffer {
    this.hasPieces = false
    return this.#message(this.#times(2, () => this.#sub(1, () => this.#resourceLogs())))
  }

  #resourceLogs(): Buffer {
    return this.#message([
      ...this.#onceAsMessage(() => this.#sub(1, () => this.#attributes(1))),
      ...this.#times(2, () => this.#sub(2, () => this.#scopeLogs())),
      ...this.#maybe(() => lengthDelimited(3, Buffer.from('http://schema'))),
    ])
  }

  #scopeLogs(): Buffer {
    return this.#message([
      ...this.#onceAsMessage(() => this.#sub(1, () => this.#scope())),
      ...this.#times(5, () => this.#sub(2, () => this.#record())),
    ])
  }

  #scope(): Buffer {
    return this.#message([
      ...this.#maybe(() => lengthDelimited(1, this.#text())),
      ...this.#maybe(() => lengthDelimited(2, this.#text())),
      ...this.#times(1, () => this.#sub(3, () => this.#keyValue(1))),
    ])
  }

  #attributes(field: number): Buffer {
    return this.#message(this.#times(3, () => this.#sub(field, () => this.#keyValue(2))))
  }

  #record(): Buffer {
    return this.#message([
      ...this.#once(() => fixed64(1, this.#time())),
      ...this.#maybe(() => Buffer.concat([varint(16), varint(this.#below(30) - 3)])),
      ...this.#maybe(() => lengthDelimited(3, this.#text())),
      ...this.#onceAsMessage(() => this.#sub(5, () => this.#any(0))),
      ...this.#times(3, () => this.#sub(6, () => this.#keyValue(1))),
      ...this.#maybe(() => Buffer.concat([varint(7 * 8), varint(3)])),
      ...this.#maybe(() => Buffer.concat([varint(8 * 8 + 5), Buffer.from([1, 0, 0, 0])])),
      ...this.#maybe(() => lengthDelimited(9, this.#id(16))),
      ...this.#maybe(() => lengthDelimited(10, this.#id(8))),
      ...this.#maybe(() => fixed64(11, this.#time())),
      ...this.#maybe(() => lengthDelimited(12, this.#text())),
    ])
  }

  #keyValue(depth: number): Buffer {
    return this.#message([
      ...this.#maybe(() => lengthDelimited(1, Buffer.from(this.#pick(WORDS)))),
      ...(this.#isOdd && this.#chance(0.03) ? [lengthDelimited(1, this.#pick(BAD_TEXTS))] : []),
      ...this.#onceAsMessage(() => this.#sub(2, () => this.#any(depth))),
    ])
  }

  #any(depth: number): Buffer {
    const fields = this.#once(() => this.#anyField(depth))
    const [first, second] = fields.map((field) => field[0])
    // An array or a kvlist twice; of others in the oneof the last counts.
    if (first === second && (first === 0x2a || first === 0x32)) this.hasPieces = true
    return this.#message(fields)
  }

  #anyField(depth: number): Buffer {
    const kind = depth > 4 ? this.#below(4) : this.#below(7)
    switch (kind) {
      case 0:
        return lengthDelimited(1, this.#text())
      case 1:
        return Buffer.concat([varint(16), varint(this.#below(2))])
      case 2:
        return Buffer.concat([varint(24), varint(this.#pick(INTS))])
      case 3:
        return double(4, this.#pick(DOUBLES))
      case 4:
        return this.#sub(5, () =>
          this.#message(this.#times(3, () => this.#sub(1, () => this.#any(depth + 1)))),
        )
      case 5:
        return this.#sub(6, () =>
          this.#message(this.#times(4, () => this.#sub(1, () => this.#keyValue(depth + 1)))),
        )
      default:
        return lengthDelimited(7, Buffer.from(this.#pick(TEXTS)).subarray(0, this.#below(6)))
    }
  }

  /** The pieces, in their order or any, with what is to be skipped among them. */
  #message(pieces: Buffer[]): Buffer {
    if (!this.#isOdd) return Buffer.concat(pieces)
    if (this.#chance(0.2)) pieces.sort(() => this.#next() - 0.5)
    while (this.#chance(0.1)) {
      pieces.splice(this.#below(pieces.length + 1), 0, this.#unknown())
    }
    return Buffer.concat(pieces)
  }

  #unknown(): Buffer {
    const field = this.#pick([13, 15, 16, 200, 4, 2])
    switch (this.#below(5)) {
      case 0:
        return Buffer.concat([varint(field * 8), varint(this.#pick(INTS))])
      case 1:
        return Buffer.concat([varint(field * 8 + 5), Buffer.alloc(4, 0xff)])
      case 2:
        return fixed64(field === 4 ? 14 : field, 7n)
      case 3: {
        const inner = Buffer.concat([
          varint(9),
          Buffer.alloc(8, 1),
          lengthDelimited(3, Buffer.of(7)),
        ])
        return Buffer.concat([varint(field * 8 + 3), inner, varint(field * 8 + 4)])
      }
      default:
        return lengthDelimited(field === 2 ? 15 : field, Buffer.from('unknown'))
    }
  }

  #sub(field: number, make: () => Buffer): Buffer {
    const padding = this.#isOdd && this.#chance(0.1) ? this.#below(4) : 0
    return lengthDelimited(field, make(), padding)
  }

  #times(max: number, make: () => Buffer): Buffer[] {
    return Array.from({ length: this.#below(max + 1) }, make)
  }

  /** A field that comes once: mostly it does. */
  #once(make: () => Buffer): Buffer[] {
    if (this.#chance(0.1)) return []
    return this.#isOdd && this.#chance(0.05) ? [make(), make()] : [make()]
  }

  /** A message that comes once, seldom in two pieces. */
  #onceAsMessage(make: () => Buffer): Buffer[] {
    const pieces = this.#once(make)
    if (pieces.length > 1) this.hasPieces = true
    return pieces
  }

  #maybe(make: () => Buffer): Buffer[] {
    return this.#chance(0.5) ? [make()] : []
  }

  #text(): Buffer {
    if (this.#isOdd && this.#chance(0.05)) return this.#pick(BAD_TEXTS)
    return Buffer.from(this.#pick(TEXTS))
  }

  #time(): bigint {
    const times = [0n, 1n, 999_999n, 1_700_000_000_123_456_789n, 2n ** 63n - 1n, 2n ** 64n - 1n]
    return this.#pick(times)
  }

  /** Mostly bytes; else a text that stands for them, whole or damaged. */
  #id(length: number): Buffer {
    const lengths = [length, length, length, 0, length - 1]
    const bytes = Buffer.alloc(this.#pick(lengths), this.#pick([0, 1, 0xab]))
    if (this.#chance(0.6)) return bytes
    const hex = bytes.toString('hex')
    const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const base64 = bytes.toString(this.#pick(['base64', 'base64url']))
    const texts = [hex, hex.toUpperCase(), uuid, base64, Buffer.from(uuid).toString('base64')]
    const text = this.#pick(texts)
    return Buffer.from(this.#isOdd && this.#chance(0.2) ? text.slice(1) : text)
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!
  }

  #below(limit: number): number {
    return Math.floor(this.#next() * limit)
  }

  #chance(probability: number): boolean {
    return this.#next() < probability
  }
}

/** `bytes` with one thing wrong. */
export function mutate(bytes: Buffer, next: Next): Buffer {
  const at = Math.floor(next() * bytes.length)
  const length = Math.floor(next() * 8)
  switch (Math.floor(next() * 5)) {
    case 0:
      return bytes.subarray(0, at)
    case 1: {
      const changed = Buffer.from(bytes)
      changed[at] = Math.floor(next() * 256)
      return changed
    }
    case 2: {
      const changed = Buffer.from(bytes)
      if (at < bytes.length) changed[at]! ^= 1 << Math.floor(next() * 8)
      return changed
    }
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
    default:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)])
  }
}
