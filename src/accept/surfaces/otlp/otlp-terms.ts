/** How a decoded request of OTLP logs is judged and answered, whatever carries it. */
import type { IngestError } from '../../../errors.ts'
import type { Answer } from '../../dialect.ts'
import { type IngestReport, refusalFor } from '../../ingest-report.ts'
import { type OtlpEncoding, otlpPartialSuccess, otlpSuccess } from './otlp-reply.ts'

export function judgeOtlp({ fatal }: IngestReport): IngestError | undefined {
  return fatal && refusalFor(fatal)
}

/**
 * Remembered as JSON, whatever encoding it is sent in. Empty for a full success. A message with no
 * rejected record is what the protocol has for warnings.
 */
export function answerOtlp(report: IngestReport): Answer {
  const { rejected, errors, warnings } = report
  const told: string[] = []
  const tell = (text: string, first: { index: number; message: string } | undefined) => {
    told.push(first === undefined ? text : `${text}; record ${first.index}: ${first.message}`)
  }
  if (rejected > 0) tell(`${rejected} log records were rejected`, errors[0])
  if (warnings > 0) tell(`${warnings} log records were stored in part`, report.firstWarning)
  return told.length === 0 ? '' : JSON.stringify({ rejected, message: told.join('; ') })
}

/** The message that says what `answerOtlp` says. */
export function encodeOtlpAnswer(encoding: OtlpEncoding, answer: Answer): Uint8Array {
  const text = String(answer)
  if (text === '') return otlpSuccess(encoding)
  const { rejected, message } = JSON.parse(text) as { rejected: number; message: string }
  return otlpPartialSuccess(encoding, rejected, message)
}
