/** Goal: what `docs/api.md` promises is what the code does: errors, scopes and limits. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERRORS } from '../../src/errors.ts'
import {
  EVENTS_PAGE_BYTES_MAX,
  EVENTS_PAGE_DEFAULT,
  EVENTS_PAGE_MAX,
  EXPORTS_MAX,
  FACET_FIELDS_MAX,
  FACET_VALUES_DEFAULT,
  FACET_VALUES_MAX,
  FIELD_SAMPLES_MAX,
  FIELDS_PAGE_DEFAULT,
  FIELDS_PAGE_MAX,
  KEYS_PER_STREAM_MAX,
  NAME_CHARS_MAX,
  QUERY_DISTINCT_MAX,
  QUERY_GROUPS_MAX,
  QUERY_MS_MAX,
  QUERY_RESULT_BYTES_MAX,
  REDACT_FIELD_CHARS_MAX,
  REDACT_FIELDS_MAX,
  REVIEW_DAMAGED_MAX,
  REVIEW_EVENT_IDS_MAX,
  REVIEW_EVENTS_MAX,
  REVIEW_MS_MAX,
  REVIEW_PATHS_HELD_MAX,
  REVIEW_PATHS_MAX,
  REVIEW_SAMPLES_MAX,
  SAMPLE_BYTES_MAX,
  SCHEMA_CAP_MAX,
  SEARCH_FIELDS_MAX,
  SEARCH_PENDING_EVENTS_MAX,
  SHAPE_PATHS_BYTES_MAX,
  SHAPES_PAGE_DEFAULT,
  SHAPES_PAGE_MAX,
  STATS_TOP_DEFAULT,
  STATS_TOP_MAX,
} from '../../src/limits.ts'
import { SCOPES } from '../../src/model/stream.ts'
import { LAG_SEGMENTS_MAX } from '../../src/store/raw/usage-store.ts'

// Tests run from `dist/`.
const text = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')

test('the error table is the one of the code', () => {
  const rows = [...text.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| (yes|no) \| (.+) \|$/gm)]
  const documented = rows.map(([, code, status, retry, title]) => {
    return { code, httpStatus: Number(status), retryable: retry === 'yes', title }
  })
  const actual = Object.entries(ERRORS).map(([code, error]) => ({ code, ...error }))
  assert.deepEqual(documented, actual)
})

test('the scopes are those of the code', () => {
  const section = text.slice(text.indexOf('| Scope | Allows |'), text.indexOf('## Errors'))
  const documented = [...section.matchAll(/^\| `([a-z:]+)` \|/gm)].map(([, scope]) => scope)
  assert.deepEqual(documented, SCOPES)
})

test('the limits are those of the code', () => {
  const count = (value: number) => value.toLocaleString('en')
  const sentences = [
    `1 to ${NAME_CHARS_MAX} characters`,
    `at most ${REDACT_FIELDS_MAX}, of at most ${REDACT_FIELD_CHARS_MAX} characters`,
    `most ${count(KEYS_PER_STREAM_MAX)} live keys`,
    `1 to ${count(EVENTS_PAGE_MAX)}; ${EVENTS_PAGE_DEFAULT} when left out`,
    `ends at about ${EVENTS_PAGE_BYTES_MAX / 2 ** 20} MiB`,
    `up to ${SEARCH_FIELDS_MAX} paths: records`,
    `more than ${count(SEARCH_PENDING_EVENTS_MAX)} events wait`,
    `At most ${EXPORTS_MAX} exports run`,
    `1 to ${count(QUERY_GROUPS_MAX)}; 100 when left out`,
    `up to ${FACET_FIELDS_MAX} \`fields\``,
    `of each: 1 to ${FACET_VALUES_MAX}; ${FACET_VALUES_DEFAULT} when left out`,
    `takes ${QUERY_MS_MAX / 1_000} seconds, makes ${count(QUERY_DISTINCT_MAX)} groups on its way`,
    `answers with ${QUERY_RESULT_BYTES_MAX / 2 ** 20} MiB at most`,
    `1 to ${count(FIELDS_PAGE_MAX)}; ${count(FIELDS_PAGE_DEFAULT)} when left out`,
    `1 to ${count(SHAPES_PAGE_MAX)}, ${SHAPES_PAGE_DEFAULT} when left out`,
    `up to ${FIELD_SAMPLES_MAX} distinct values of at most ${SAMPLE_BYTES_MAX} bytes`,
    `1 to ${count(SCHEMA_CAP_MAX)} |`,
    `1 to ${STATS_TOP_MAX}, ${STATS_TOP_DEFAULT}\nwhen left out`,
    `at most ${SHAPE_PATHS_BYTES_MAX / 1_024} KiB\nof paths`,
    `1 to ${count(REVIEW_EVENTS_MAX)}: events to look at`,
    `at most ${REVIEW_PATHS_MAX}, past them`,
    `over ${count(REVIEW_PATHS_HELD_MAX)} paths`,
    `up to ${REVIEW_SAMPLES_MAX} different ones, masked`,
    `up to ${REVIEW_EVENT_IDS_MAX} events with such a value`,
    `${REVIEW_MS_MAX / 1_000} seconds were over`,
    `names the first ${REVIEW_DAMAGED_MAX}`,
    `among the newest ${count(LAG_SEGMENTS_MAX)} segments`,
  ]
  for (const sentence of sentences) assert.ok(text.includes(sentence), sentence)
})
