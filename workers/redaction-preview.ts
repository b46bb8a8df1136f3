/**
 * What ingest would store of a sample: the same decoding, extraction, keys and redaction, and the
 * reason for each change. A string is judged as the string of an event that it would be; so there
 * is one way for samples of every form. Stores nothing.
 */
import type { RedactionChange, RedactionPreview } from '../src/model/redact/redaction.ts'
import { decodeDocument } from './decode/json-array.ts'
import { PartOutcome } from './decode/part-outcome.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { EventBuffer } from './tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from './tape/json-tape.ts'
import { PathTrie, ROOT } from './tape/path-trie.ts'
import { Redaction } from './transform/redact/redact.ts'
import { EventRedactor } from './transform/redact/redact-event.ts'
import { RedactKeys } from './transform/redact/redact-keys.ts'
import { forEachChange, reasonName } from './transform/redact/redaction-changes.ts'
import { Edits } from './transform/rewrite/edits.ts'
import { EventRewriter } from './transform/rewrite/event-rewriter.ts'
import { extractLogs } from './transform/rewrite/extract-log.ts'
import { SecretScanner } from './transform/secrets/secrets.ts'

/** Used again for each preview: what they have of the worker's memory is not given back. */
const tape = new JsonTape(new PathTrie())
const events = new DecodedEvents()
const buffer = new EventBuffer()
const rewriter = new EventRewriter()

/** What is around a string where it is an event's: as a line of text is stored. */
const BEFORE_STRING = '{"message":'
const AFTER_STRING = '}'

/**
 * Previews a JSON object with redaction by `redactFields`; false: redaction is off. Undefined when
 * the sample is not one that ingest would accept.
 */
export function previewEvent(
  sample: Uint8Array,
  redactFields: readonly string[] | false,
): RedactionPreview | undefined {
  return preview(sample, redactFields, decodeSample)
}

/** Previews one string value, as in a field that no rule names. */
export function previewString(sample: string): RedactionPreview {
  // It may be as long as an event, which is then longer than ingest takes.
  const event = Buffer.from(BEFORE_STRING + JSON.stringify(sample) + AFTER_STRING)
  const { redacted, changes } = preview(event, [], decodeOurs)!
  return {
    redacted: redacted.slice(BEFORE_STRING.length, -AFTER_STRING.length),
    changes: changes.map(({ reason }) => ({ path: '', reason })),
  }
}

type Decode = (bytes: Uint8Array, end: number) => void

function preview(
  sample: Uint8Array,
  redactFields: readonly string[] | false,
  decode: Decode,
): RedactionPreview | undefined {
  if (!begin(sample, decode)) return undefined
  if (redactFields === false) return { redacted: eventText(), changes: [] }
  const keys = new RedactKeys(redactFields)
  try {
    const changes = findChanges(keys)
    begin(sample, decode)
    return { redacted: redactAsIngest(keys), changes }
  } finally {
    keys.dispose()
  }
}

/** Decodes a sample and extracts its `log`; returns whether it is an event. */
function begin(sample: Uint8Array, decode: Decode): boolean {
  events.reset()
  decode(tape.begin(buffer.hold(padded(sample))), sample.length)
  if (events.count !== 1) return false
  rewriter.begin(tape, events, buffer)
  extractLogs(tape, events, rewriter)
  return true
}

function decodeSample(bytes: Uint8Array, end: number): void {
  decodeDocument(tape, events, bytes, { start: 0, end }, new PartOutcome())
}

/** Of what we wrote only the tape is missing. */
function decodeOurs(): void {
  events.add(0, tape.parse(0, ROOT, true), tape.length)
}

function redactAsIngest(keys: RedactKeys): string {
  const scanner = new SecretScanner()
  keys.begin(tape.trie)
  scanner.begin(rewriter.written)
  const all = { start: 0, end: Number.POSITIVE_INFINITY }
  new Redaction(keys, scanner).run(tape, events, rewriter, all)
  return eventText()
}

/** The walk over the text, as ingest makes it where the tape is not enough, knows the reasons. */
function findChanges(keys: RedactKeys): RedactionChange[] {
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
  return changes
}

function eventText(): string {
  return Buffer.from(rewriter.bytes.subarray(events.start[0]!, events.end[0]!)).toString()
}

function padded(sample: Uint8Array): Buffer {
  const bytes = Buffer.alloc(sample.length + 1 + TAPE_PADDING)
  bytes.set(sample)
  bytes[sample.length] = 0x0a
  return bytes
}
