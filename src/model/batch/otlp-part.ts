/** Where a part of an OTLP protobuf request begins and ends in it. */
import type { ByteRange } from './accepted-batch.ts'

export interface OtlpPartOptions {
  /** Where a part after the first begins in its request. */
  readonly resume?: OtlpResume | undefined
  /** The messages around the part's last record go on in the next part. */
  readonly continues?: boolean | undefined
}

/** A part that begins between two records of one ScopeLogs message. */
export interface OtlpResume {
  /** The Resource and the InstrumentationScope messages, in the batch's bytes before the part. */
  readonly resource: ByteRange
  readonly scope: ByteRange | undefined
  /** Bytes that remain, from the part's start, of the ScopeLogs and ResourceLogs messages. */
  readonly scopeLogsBytes: number
  readonly resourceLogsBytes: number
}
