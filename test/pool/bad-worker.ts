/** A worker that does what the first bytes of its batch say: works, throws, dies or hangs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import type { PoolTask } from '../../src/pool/messages.ts'

/** Runs the command; `once <file>` dies the first time only. */
export default function run(task: PoolTask): unknown {
  if (task.kind !== 'ingest') throw new Error('not for this worker')
  const { bytes, streamId } = task.batch
  const command = Buffer.from(bytes).toString().replace(/\0+$/, '').trim()
  if (command === 'throw') throw new Error('a bug of ours')
  if (command === 'die') process.exit(7)
  if (command === 'hang') for (;;);
  if (command === 'allocate') {
    const all: unknown[] = []
    for (;;) all.push(new Array(2_000_000).fill(all.length))
  }
  if (command.startsWith('once ') && tryRead(command.slice(5)) === '') {
    writeFileSync(command.slice(5), 'was here')
    process.exit(8)
  }
  if (command.startsWith('sleep ')) {
    const shared = new Int32Array(new SharedArrayBuffer(4))
    Atomics.wait(shared, 0, 0, Number(command.slice(6)))
  }
  const hadOutput = task.output !== undefined
  return { kind: 'ingest', batch: { streamId, segments: [], parts: [], threadId, hadOutput } }
}

function tryRead(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
