import type { MicroBench } from '../bench.ts'
import { OFF, transformBench } from './redaction.bench.ts'

function withLog(line: string): string {
  return JSON.stringify({ log: `${line}\n`, stream: 'stdout' })
}

const text = JSON.stringify('a line of plain text that is as long as others are: '.repeat(4))

export const extractionBenches: readonly MicroBench[] = [
  transformBench(
    'extract-text',
    'log is text in each',
    OFF,
    (line) => `{"log":${text},${line.slice(1)}`,
  ),
  transformBench('extract', 'the whole event in log, extracted', OFF, withLog),
  transformBench(
    'extract-redact',
    'the same, with redaction',
    { ...OFF, redactSensitive: true },
    withLog,
  ),
]
