/**
 * What redaction would do to a sample: the same extraction, keys and scanner as at ingest, with the
 * reason for each change. Stores nothing.
 */
import type { RedactionChange, RedactionPreview } from '../src/model/redaction-preview.ts'
import { decodeDocument } from './decode/json-array.ts'
import { PartOutcome } from './decode/part-outcome.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { EventBuffer } from './tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'
import { EventRedactor } from './transform/redact/redact-event.ts'
import { RedactKeys } from './transform/redact/redact-keys.ts'
import { forEachChange, reasonName } from './transform/redact/redaction-changes.ts'
import { Edits, REASON_SECRET } from './transform/rewrite/edits.ts'
import { EventRewriter } from './transform/rewrite/event-rewriter.ts'
import { extractLogs } from './transform/rewrite/extract-log.ts'
import { NO_SECRET, SecretScanner } from './transform/secrets/secrets.ts'

/** Used again for each preview: what they have of the worker's memory is not given back. */
const tape = new JsonTape(new PathTrie())
const events = new DecodedEvents()
const buffer = new EventBuffer()
const rewriter = new EventRewriter()

/** Previews a JSON object. Undefined when the sample is not one that ingest would accept. */
export function previewEvent(
  sample: Uint8Array,
  redactFields: readonly string[],
): RedactionPreview | undefined {
  const outcome = new PartOutcome()
  events.reset()
  const bytes = tape.begin(buffer.hold(padded(sample)))
  decodeDocument(tape, events, bytes, { start: 0, end: sample.length }, outcome)
  if (events.count !== 1) return undefined
  rewriter.begin(tape, events, buffer)
  extractLogs(tape, events, rewriter)

  const keys = new RedactKeys(redactFields)
  try {
    return redactedWith(keys)
  } finally {
    keys.dispose()
  }
}

/** Redacts the one event of the tape. */
function redactedWith(keys: RedactKeys): RedactionPreview {
  const scanner = new SecretScanner()
  const edits = new Edits()
  const redactor = new EventRedactor(edits, keys, scanner)
  keys.begin(tape.trie)
  scanner.begin(rewriter.written)
  redactor.find(tape.trie, rewriter.bytes, rewriter.view, events.start[0]!)
  const changes: RedactionChange[] = []
  forEachChange(redactor, events.start[0]!, (edit) => {
    const path = tape.trie.displayPath(redactor.nodes[edit]!)
    changes.push({ path, reason: reasonName(edits.reason[edit]!) })
  })
  rewriter.rewrite(0, edits)
  const redacted = rewriter.bytes.subarray(events.start[0]!, events.end[0]!)
  return { redacted: Buffer.from(redacted).toString(), changes }
}

/** Previews one string value, as in a field that no rule names. */
export function previewString(sample: string): RedactionPreview {
  // As it would come: values with backslashes have escapes.
  const bytes = Buffer.from(JSON.stringify(sample))
  const scanner = new SecretScanner()
  scanner.begin(bytes)
  const kind = scanner.scanEscaped(1, bytes.length - 1)
  if (kind === NO_SECRET) return { redacted: JSON.stringify(sample), changes: [] }
  const reason = reasonName(REASON_SECRET + kind)
  return { redacted: '"[REDACTED]"', changes: [{ path: '', reason }] }
}

function padded(sample: Uint8Array): Buffer {
  const bytes = Buffer.alloc(sample.length + 1 + TAPE_PADDING)
  bytes.set(sample)
  bytes[sample.length] = 0x0a
  return bytes
}
