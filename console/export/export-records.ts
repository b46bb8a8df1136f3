/**
 * An export as it arrives, cut into whole records: counted, and written without one that was cut
 * off. Its last line says if something is missing (docs/api.md, "Export"). The last whole record is
 * held back until the next one has come, as it may be that line.
 */

export type ExportKind = 'csv' | 'lines'

export interface ExportEnd {
  /** What was held back, without a record that was cut off. */
  readonly rest: readonly Uint8Array<ArrayBuffer>[]
  /** What the last line says is missing; undefined without such a line. */
  readonly reason: string | undefined
}

type Bytes = Uint8Array<ArrayBuffer>

const LINE_END = 0x0a
const QUOTE = 0x22
/** How a last line begins that no record begins like: records of CSV begin with digits. */
const ENDINGS: Readonly<Record<ExportKind, string>> = {
  csv: '"incomplete: ',
  lines: '{"complete":false',
}

export class ExportRecords {
  readonly #kind: ExportKind
  /** From the beginning of the last whole record. */
  #held: Bytes[] = []
  #heldBytes = 0
  /** Of those held: how long the whole record is. */
  #wholeBytes = 0
  #isInQuotes = false
  #lines = 0

  constructor(kind: ExportKind) {
    this.#kind = kind
  }

  /** Events so far; the last line, if there is one, counts until `end` is called. */
  get events(): number {
    return Math.max(0, this.#lines - (this.#kind === 'csv' ? 1 : 0))
  }

  /** Takes what came; gives whole records. */
  take(chunk: Bytes): readonly Bytes[] {
    let start = 0
    let end = this.#wholeBytes
    for (let at = this.#lineEnd(chunk, 0); at >= 0; at = this.#lineEnd(chunk, at + 1)) {
      start = end
      end = this.#heldBytes + at + 1
      this.#lines++
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    this.#wholeBytes = end - start
    return start === 0 ? [] : this.#release(start)
  }

  /** Call it once, when no more comes. */
  end(): ExportEnd {
    const whole = this.#release(this.#wholeBytes)
    const cut = this.#held
    const [last, begun] = [this.#endingOf(whole), this.#endingOf(cut)]
    if (last !== undefined) this.#lines--
    // The end of a last line may be lost with the connection; the line itself is whole then.
    const lineEnd = new TextEncoder().encode(this.#kind === 'csv' ? '\r\n' : '\n')
    const rest = begun === undefined ? whole : [...whole, ...cut, lineEnd]
    return { rest, reason: begun ?? last }
  }

  /** Where the next record ends: at a line end that is not within quotes. */
  #lineEnd(chunk: Bytes, from: number): number {
    if (this.#kind === 'lines') return chunk.indexOf(LINE_END, from)
    for (let at = from; at < chunk.length; at++) {
      if (chunk[at] === QUOTE) this.#isInQuotes = !this.#isInQuotes
      else if (chunk[at] === LINE_END && !this.#isInQuotes) return at
    }
    return -1
  }

  /** The first `bytes` of what is held. */
  #release(bytes: number): Bytes[] {
    const released: Bytes[] = []
    for (let left = bytes; left > 0; ) {
      const piece = this.#held.shift()!
      released.push(piece.subarray(0, left))
      if (piece.length > left) this.#held.unshift(piece.subarray(left))
      left -= Math.min(left, piece.length)
    }
    this.#heldBytes -= bytes
    return released
  }

  /** The reason, if this is a last line that has one, whole. */
  #endingOf(pieces: readonly Bytes[]): string | undefined {
    const ending = ENDINGS[this.#kind]
    const decoder = new TextDecoder()
    let text = ''
    for (const piece of pieces) {
      text += decoder.decode(piece, { stream: true })
      if (!text.startsWith(ending.slice(0, text.length))) return undefined
    }
    if (!text.startsWith(ending)) return undefined
    if (this.#kind === 'csv') {
      return /^"incomplete: ((?:[^"]|"")*)",/.exec(text)?.[1]?.replaceAll('""', '"')
    }
    try {
      return (JSON.parse(text) as { readonly reason: string }).reason
    } catch {
      return undefined
    }
  }
}

/** A last line as the service writes it, for what it could not say itself. */
export function endingLine(kind: ExportKind, columns: number, reason: string): string {
  if (kind === 'lines') return `${JSON.stringify({ complete: false, reason })}\n`
  return `"incomplete: ${reason.replaceAll('"', '""')}"${','.repeat(columns - 1)}\r\n`
}
