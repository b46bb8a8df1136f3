/**
 * Finds the log records of an OTLP protobuf request while it arrives: where each ends, and which
 * messages are around it. Reads the lengths of messages, not their contents; the decoder judges
 * those. When something looks wrong, the scan becomes `isOpaque` and leaves the rest to the decoder
 * too.
 */

/** What `next` found. */
export const SCAN_MORE = 0
/** The end of a log record, or of a ScopeLogs or ResourceLogs message: perhaps a place to cut. */
export const SCAN_BOUNDARY = 1
/** A second resource or scope in the message around it. */
export const SCAN_TWICE = 2

const LEVEL_REQUEST = 0
const LEVEL_RESOURCE_LOGS = 1
const LEVEL_SCOPE_LOGS = 2

/** Tags: field number times 8 plus wire type. */
const TAG_CONTEXT = 0x0a
const TAG_INNER = 0x12
const TAG_BODY = 0x2a
const TAG_KVLIST = 0x32
/** JSON around the values of a wrapped record, and its braces and keys. */
const WRAPPED_BYTES = 96

export interface Span {
  start: number
  end: number
}

export class OtlpScan {
  /** Everything before it is understood; it is beyond the data while a field is being skipped. */
  at = 0
  isOpaque = false
  /** Approximate bytes of JSON that the events will have. */
  generatedBytes = 0
  level = LEVEL_REQUEST
  /** Where the messages around `at` end. */
  resourceLogsEnd = 0
  scopeLogsEnd = 0
  /** Undefined until they are found. */
  resource: Span | undefined
  scope: Span | undefined
  #value = 0

  /** Reads on in `bytes`, of which `length` have arrived. */
  next(bytes: Uint8Array, length: number): number {
    while (!this.isOpaque && this.at <= length) {
      if (this.level !== LEVEL_REQUEST) {
        const end = this.#levelEnd()
        if (this.at === end) {
          this.level--
          return SCAN_BOUNDARY
        }
        if (this.at > end) return this.#giveUp()
      }
      if (this.at === length) return SCAN_MORE
      const start = this.at
      const tagEnd = this.#varint(bytes, start, length)
      if (tagEnd < 0) return SCAN_MORE
      const tag = this.#value
      const isLevelField =
        tag === TAG_CONTEXT || (tag === TAG_INNER && this.level !== LEVEL_REQUEST)
      if (!isLevelField) {
        if (this.#skip(bytes, tag, tagEnd, length)) continue
        return SCAN_MORE
      }
      const contents = this.#varint(bytes, tagEnd, length)
      if (contents < 0) return SCAN_MORE
      const result = this.#field(bytes, tag, start, contents, length)
      if (result !== undefined) return result
    }
    return SCAN_MORE
  }

  /** The data has moved `by` bytes further on; the caller sets resource and scope. */
  shift(by: number): void {
    this.at += by
    this.resourceLogsEnd += by
    this.scopeLogsEnd += by
  }

  /** Whether a cut at this boundary does not change what is decoded after it. */
  get isCutExact(): boolean {
    if (this.level === LEVEL_SCOPE_LOGS && this.scope === undefined) return false
    return this.level === LEVEL_REQUEST || this.resource !== undefined
  }

  #levelEnd(): number {
    return this.level === LEVEL_SCOPE_LOGS ? this.scopeLogsEnd : this.resourceLogsEnd
  }

  #giveUp(): number {
    this.isOpaque = true
    return SCAN_MORE
  }

  /** A resource, scope, record or the message around them, `#value` bytes from `contents` on. */
  #field(
    bytes: Uint8Array,
    tag: number,
    start: number,
    contents: number,
    length: number,
  ): number | undefined {
    const end = contents + this.#value
    if (this.level !== LEVEL_REQUEST && end > this.#levelEnd()) return this.#giveUp()
    if (this.level === LEVEL_REQUEST) {
      this.level = LEVEL_RESOURCE_LOGS
      this.resourceLogsEnd = end
      this.resource = undefined
      this.at = contents
      return undefined
    }
    if (tag === TAG_CONTEXT) {
      const what = this.level === LEVEL_SCOPE_LOGS ? 'scope' : 'resource'
      if (this[what] !== undefined) return SCAN_TWICE
      this[what] = { start: contents, end }
      this.at = end
      return undefined
    }
    if (this.level === LEVEL_RESOURCE_LOGS) {
      this.level = LEVEL_SCOPE_LOGS
      this.scopeLogsEnd = end
      this.scope = undefined
      this.at = contents
      return undefined
    }
    if (end > length) return SCAN_MORE // A record is examined when it is complete.
    this.at = end
    this.generatedBytes += end - start
    if (!hasKvlistBody(bytes, contents, end)) {
      this.generatedBytes += WRAPPED_BYTES + spanBytes(this.resource) + spanBytes(this.scope)
    }
    return SCAN_BOUNDARY
  }

  /** Skips any other field; false when not enough of it has arrived. */
  #skip(bytes: Uint8Array, tag: number, tagEnd: number, length: number): boolean {
    const wireType = tag & 7
    if (wireType === 1) this.at = tagEnd + 8
    else if (wireType === 5) this.at = tagEnd + 4
    else if (wireType === 0 || wireType === 2) {
      const end = this.#varint(bytes, tagEnd, length)
      if (end < 0) return false
      this.at = wireType === 0 ? end : end + this.#value
    } else this.isOpaque = true // A group: too rare to support.
    return true
  }

  /**
   * Reads a varint at `at` into `#value`; returns its end, or -1 when it is incomplete or invalid.
   * If it is invalid, the scan becomes opaque. A value over 32 bits is far over any limit.
   */
  #varint(bytes: Uint8Array, at: number, length: number): number {
    let value = 0
    let factor = 1
    for (let i = at; i < length; i++) {
      const byte = bytes[i]!
      if (byte < 0x80) {
        this.#value = value + byte * factor
        return i + 1
      }
      value += (byte - 0x80) * factor
      factor *= 0x80
      if (i - at === 9) {
        this.isOpaque = true
        return -1
      }
    }
    return -1
  }
}

export function spanBytes(span: Span | undefined): number {
  return span === undefined ? 0 : span.end - span.start
}

/**
 * Whether the record's first body is a kvlist: then its resource is not in the event. It is a guess
 * that serves the size of batches; a record that defeats it meets the worker's own bound.
 */
function hasKvlistBody(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start
  while (at < end) {
    const tag = bytes[at++]!
    if (tag === TAG_BODY) {
      while (at < end && bytes[at]! >= 0x80) at++ // The body's length.
      return at + 1 < end && bytes[at + 1] === TAG_KVLIST
    }
    const wireType = tag & 7
    if (tag >= 0x80) return false
    if (wireType === 1) at += 8
    else if (wireType === 5) at += 4
    else if (wireType === 0) while (at < end && bytes[at++]! >= 0x80);
    else if (wireType === 2) {
      let length = 0
      let shift = 0
      let byte = 0x80
      while (at < end && byte >= 0x80 && shift < 28) {
        byte = bytes[at++]!
        length |= (byte & 0x7f) << shift
        shift += 7
      }
      at += length
    } else return false
  }
  return false
}
