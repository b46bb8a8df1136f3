/**
 * Cuts an OTLP protobuf body into batches while it arrives, between log records: a collector sends
 * thousands of them in one message. Copies each byte once, from the network into a batch.
 *
 * A part that begins between two records is preceded by a copy of their resource and scope, and
 * says how many bytes remain of the messages around them (`Part.resume`). A cut is made only where
 * resource and scope are known, and a second resource or scope makes the request malformed. So
 * where a body is cut does not show in its events.
 *
 * A resource is in the body once, but in many events. So the size of a batch is measured in bytes
 * of the events it will produce, and so is the limit on a request.
 */
import { BATCH_PADDING, type BatchBuffers } from '../../../bytes/batch-buffers.ts'
import { copyBytes } from '../../../bytes/copy-bytes.ts'
import { IngestError } from '../../../errors.ts'
import { BATCH_BYTES_TARGET, OTLP_GENERATED_BYTES_MAX } from '../../../limits.ts'
import type { OtlpPartOptions, OtlpResume } from '../../../model/batch/otlp-part.ts'
import { type Framer, type FramerSink, firstBytes, moreBytes } from '../../framing/body-framer.ts'
import { OtlpScan, SCAN_BOUNDARY, SCAN_MORE, SCAN_TWICE, spanBytes } from './otlp-scan.ts'

const TWICE = 'invalid OTLP request: a resource or scope comes twice'
const CUT_SHORT = 'invalid OTLP request: the body ends inside a message'

export class OtlpFramer implements Framer {
  readonly #buffers: BatchBuffers
  readonly #sink: FramerSink
  readonly #target: number
  readonly #scan = new OtlpScan()
  #buffer: Uint8Array | undefined
  #length = 0
  /** Where the part starts in the buffer: after the resource and the scope that it resumes. */
  #start = 0
  #resume: OtlpResume | undefined
  /** `generatedBytes` of the scan when the part began. */
  #generatedBefore = 0
  #isOver = false

  /**
   * `declaredBytes`: the Content-Length where it is the length of what is pushed, else 0.
   * `target`: bytes of a part, or of its events, that make it full.
   */
  constructor(
    declaredBytes: number,
    buffers: BatchBuffers,
    sink: FramerSink,
    target = BATCH_BYTES_TARGET,
  ) {
    this.#buffers = buffers
    this.#sink = sink
    // A body a little over the target makes two equal batches rather than a large and a tiny one.
    const batches = Math.max(1, Math.ceil(declaredBytes / target))
    this.#target = declaredBytes > 0 ? Math.ceil(declaredBytes / batches) : target
  }

  /**
   * Bytes of JSON that a whole body's events will have, for `Batcher.submitShared`, or why it is
   * refused. A body that the scan does not understand counts with its own size; the decoder judges
   * it.
   */
  static measureWhole(bytes: Uint8Array): number | IngestError {
    const scan = new OtlpScan()
    while (scan.next(bytes, bytes.length) === SCAN_BOUNDARY) {
      if (scan.generatedBytes > OTLP_GENERATED_BYTES_MAX) return generatedTooLarge()
    }
    return Math.max(bytes.length, scan.generatedBytes)
  }

  /** Takes a copy of `bytes`. */
  push(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length && !this.#isOver) {
      const buffer = this.#room(bytes.length - at)
      const count = Math.min(bytes.length - at, buffer.length - BATCH_PADDING - this.#length)
      copyBytes(buffer, bytes.subarray(at, at + count), this.#length)
      this.#length += count
      at += count
      this.#readOn()
    }
  }

  /** The body is complete: hands out the rest. */
  end(): void {
    const buffer = this.#buffer
    if (this.#isOver) return
    this.#isOver = true
    if (buffer === undefined) return
    if (this.#length > this.#start) {
      this.#emit(buffer, this.#length, false)
      this.#buffer = undefined
      return
    }
    // The last cut was at the last byte, so all messages must be complete there.
    if (this.#resume !== undefined) this.#sink.fail(new IngestError('malformed', CUT_SHORT))
    this.discard()
  }

  /** Gives the buffer back; nothing more is handed out. */
  discard(): void {
    if (this.#buffer !== undefined) this.#buffers.release(this.#buffer)
    this.#buffer = undefined
    this.#length = 0
    this.#isOver = true
  }

  /** The buffer, with room for at least one more byte. */
  #room(wanted: number): Uint8Array {
    const buffer = this.#buffer
    if (buffer === undefined) {
      this.#buffer = this.#buffers.take(firstBytes(wanted, this.#target))
      return this.#buffer
    }
    if (this.#length < buffer.length - BATCH_PADDING) return buffer
    // It may outgrow a batch where there is no place to cut. The copied resource and scope were in
    // the body before, so the body's own limit bounds it.
    this.#buffer = this.#buffers.grow(buffer, this.#length, moreBytes(this.#length, this.#target))
    return this.#buffer
  }

  #readOn(): void {
    const scan = this.#scan
    for (;;) {
      const found = scan.next(this.#buffer!, this.#length)
      if (found === SCAN_MORE) return
      if (found === SCAN_TWICE) return this.#fail(new IngestError('malformed', TWICE))
      if (scan.generatedBytes > OTLP_GENERATED_BYTES_MAX) return this.#fail(generatedTooLarge())
      const partBytes = Math.max(scan.at - this.#start, scan.generatedBytes - this.#generatedBefore)
      if (partBytes >= this.#target && scan.isCutExact) this.#cut()
    }
  }

  #fail(error: IngestError): void {
    this.discard()
    this.#sink.fail(error)
  }

  /** Hands out what is before the scan's position, and goes on after it in a new buffer. */
  #cut(): void {
    const scan = this.#scan
    const buffer = this.#buffer!
    const { at, level } = scan
    const resource = level > 0 ? scan.resource : undefined
    const scope = level > 1 ? scan.scope : undefined
    const resourceBytes = spanBytes(resource)
    const start = resourceBytes + spanBytes(scope)
    const restBytes = this.#length - at
    const next = this.#buffers.take(Math.max(start + restBytes, this.#target))
    if (resource) copyBytes(next, buffer.subarray(resource.start, resource.end), 0)
    if (scope) copyBytes(next, buffer.subarray(scope.start, scope.end), resourceBytes)
    copyBytes(next, buffer.subarray(at, this.#length), start)
    const scopeLogsBytes = level > 1 ? scan.scopeLogsEnd - at : 0
    const resourceLogsBytes = level > 0 ? scan.resourceLogsEnd - at : 0
    this.#emit(buffer, at, resourceLogsBytes > 0)
    this.#buffer = next
    this.#length = start + restBytes
    this.#start = start
    scan.shift(start - at)
    scan.resource = resource && { start: 0, end: resourceBytes }
    scan.scope = scope && { start: resourceBytes, end: start }
    this.#resume =
      resourceLogsBytes === 0 || scan.resource === undefined
        ? undefined
        : { resource: scan.resource, scope: scan.scope, scopeLogsBytes, resourceLogsBytes }
    this.#generatedBefore = scan.generatedBytes
  }

  #emit(buffer: Uint8Array, end: number, continues: boolean): void {
    const options: OtlpPartOptions = { resume: this.#resume, continues }
    const framing = 'otlp-protobuf'
    this.#sink.part({ buffer, framing, start: this.#start, end, linesBefore: 0, options })
  }
}

function generatedTooLarge(): IngestError {
  const limit = `${OTLP_GENERATED_BYTES_MAX} bytes (OTLP_GENERATED_BYTES_MAX)`
  return new IngestError('too_large', `the request's events would be over ${limit}`)
}
