/** Every micro bench, in the order of the table. A new one is its file and a line here. */
import type { MicroBench } from './bench.ts'
import { bulkOwnIds, bulkSameAction } from './decode/bulk.bench.ts'
import { gunzip } from './decode/gunzip.bench.ts'
import { jsonParse, jsonParseBytes, jsonParseStringify } from './decode/json-parse.bench.ts'
import { jsonTape } from './decode/json-tape.bench.ts'
import { ndjsonPackage } from './decode/ndjson-package.bench.ts'
import { otlpJson, otlpKvlist, otlpProtobufjs, otlpWrapped } from './decode/otlp.bench.ts'
import { simdjsonIsValid, simdjsonParse } from './decode/simdjson.bench.ts'
import { compressionBenches } from './encode/brotli.bench.ts'
import { nativeBlock, tapeAndNativeBlock } from './encode/native-block.bench.ts'
import { segment } from './encode/segment.bench.ts'
import { evaluateBenches } from './evaluate/evaluate.bench.ts'
import { matchBenches } from './ingest/match.bench.ts'
import { replayJson, replayText, segmentText } from './ingest/replay.bench.ts'
import { reviewBenches } from './ingest/review.bench.ts'
import {
  workerTaskJson,
  workerTaskOtlp,
  workerTasksHec,
  workerTasksLoki,
  workerTasksSyslog,
  workerTaskText,
} from './ingest/worker-task.bench.ts'
import { eventFacts } from './transform/event-facts.bench.ts'
import { eventPatternsJson, eventPatternsText } from './transform/event-patterns.bench.ts'
import { extractionBenches } from './transform/extract-log.bench.ts'
import { redactionBenches } from './transform/redaction.bench.ts'
import { secretRegex, secretScan } from './transform/secrets.bench.ts'
import { userAgentBenches } from './transform/user-agents.bench.ts'

export const MICRO_BENCHES: readonly MicroBench[] = [
  jsonParse,
  jsonParseBytes,
  jsonParseStringify,
  simdjsonIsValid,
  simdjsonParse,
  ndjsonPackage,
  jsonTape,
  bulkSameAction,
  bulkOwnIds,
  otlpKvlist,
  otlpWrapped,
  otlpJson,
  otlpProtobufjs,
  gunzip,
  secretScan,
  secretRegex,
  ...redactionBenches,
  ...extractionBenches,
  ...userAgentBenches,
  eventFacts,
  eventPatternsJson,
  eventPatternsText,
  nativeBlock,
  tapeAndNativeBlock,
  ...compressionBenches,
  segment,
  workerTaskJson,
  workerTaskText,
  workerTaskOtlp,
  ...workerTasksLoki,
  ...workerTasksHec,
  ...workerTasksSyslog,
  segmentText,
  replayJson,
  replayText,
  ...reviewBenches,
  ...evaluateBenches,
  ...matchBenches,
]
