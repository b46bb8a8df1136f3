/**
 * The container of a backup: tar (ustar), which any machine can list and unpack. Members are short
 * and whole when they are written; readers get them in pieces. Input of a reader is hostile.
 */
import { createHash } from 'node:crypto'

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const CHECKSUM_AT = 148
const CHECKSUM_BYTES = 8
const SIZE = /^[0-7]{11}$/
const MEMBER_MODE = '0000600'

/** Something is wrong with an archive; the message is for the operator. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}

/** Resolves when the bytes may be forgotten. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>

export class TarWriter {
  readonly #write: WriteBytes
  /** The lines of `sha256sum`. */
  readonly sums: string[] = []
  bytes = 0

  constructor(write: WriteBytes) {
    this.#write = write
  }

  async add(name: string, body: Uint8Array): Promise<void> {
    this.sums.push(`${createHash('sha256').update(body).digest('hex')}  ${name}\n`)
    await this.#put(header(name, body.length))
    await this.#put(body)
    await this.#put(new Uint8Array(paddingOf(body.length)))
  }

  async end(): Promise<void> {
    await this.#put(new Uint8Array(2 * BLOCK_BYTES))
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.length
    if (bytes.length > 0) await this.#write(bytes)
  }
}

export interface TarMember {
  readonly name: string
  readonly size: number
  /** To be read to its end before the next member; then the digest is there. */
  readonly body: AsyncGenerator<Uint8Array, void>
  readonly digest: () => string
}

/** The members in their order. Throws `ArchiveError`. */
export async function* readTar(input: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const reader = new ByteReader(input)
  for (;;) {
    const block = await reader.take(BLOCK_BYTES)
    if (block.every((byte) => byte === 0)) return
    const { name, size } = parseHeader(block, reader.offset - BLOCK_BYTES)
    const hash = createHash('sha256')
    let digest: string | undefined
    const body = async function* () {
      for await (const chunk of reader.stream(size)) {
        hash.update(chunk)
        yield chunk
      }
      digest = hash.digest('hex')
    }
    const startAt = reader.offset
    yield { name, size, body: body(), digest: () => digest ?? '' }
    if (reader.offset !== startAt + size) throw new Error('a member was not read to its end')
    await reader.take(paddingOf(size))
  }
}

/** All of a small member. Throws `ArchiveError` past `bytesMax`. */
export async function readWhole({ name, size, body }: TarMember, bytesMax: number) {
  if (size > bytesMax) throw new ArchiveError(`${name} is over ${bytesMax} bytes: not a backup`)
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) throw new Error('a name is too long for tar')
  const put = (text: string, at: number) => block.write(text, at, 'latin1')
  put(name, 0)
  for (const [text, at] of [
    [MEMBER_MODE, 100],
    ['0000000', 108],
    ['0000000', 116],
    [size.toString(8).padStart(11, '0'), 124],
    ['00000000000', 136],
    ['0', 156],
    ['ustar', 257],
    ['00', 263],
  ] as const) {
    put(text, at)
  }
  put(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT)
  return block
}

/** Of all bytes, those of the checksum taken for blanks. */
function checksumOf(block: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < BLOCK_BYTES; at++) {
    const isOwn = at >= CHECKSUM_AT && at < CHECKSUM_AT + CHECKSUM_BYTES
    sum += isOwn ? 0x20 : block[at]!
  }
  return sum
}

function parseHeader(bytes: Uint8Array, at: number): { name: string; size: number } {
  const block = Buffer.from(bytes)
  const text = (from: number, to: number) => block.toString('latin1', from, to).split('\0')[0]!
  const sum = Number.parseInt(text(CHECKSUM_AT, CHECKSUM_AT + CHECKSUM_BYTES), 8)
  const size = text(124, 136)
  const isFile = text(156, 157) === '0' && text(257, 263) === 'ustar' && SIZE.test(size)
  if (sum !== checksumOf(block) || !isFile) {
    const what = at === 0 ? 'this is no backup of Sluice' : `the archive is damaged at byte ${at}`
    throw new ArchiveError(what)
  }
  return { name: text(0, NAME_BYTES_MAX), size: Number.parseInt(size, 8) }
}

class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array(0)
  offset = 0

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#chunks = input[Symbol.asyncIterator]()
  }

  async take(count: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    for await (const piece of this.stream(count)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  async *stream(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) await this.#fill()
      const piece = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(piece.length)
      this.offset += piece.length
      left -= piece.length
      yield piece
    }
  }

  async #fill(): Promise<void> {
    const { value, done } = await this.#chunks.next()
    if (done === true) {
      const where = `the archive ends early, at byte ${this.offset}`
      throw new ArchiveError(`${where}: the backup was broken off, or not all of it was copied`)
    }
    this.#rest = value
  }
}
