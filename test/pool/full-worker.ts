/** The real worker, in a thread whose arena is full once a batch says so. */
import assert from 'node:assert/strict'
import type { PoolTask } from '../../src/pool/messages.ts'
import { ARENA_SLACK, ArenaFullError, arena } from '../../workers/kernel/arena.ts'
import runReal from '../../workers/main.ts'

export default function run(task: PoolTask): unknown {
  assert(task.kind === 'ingest')
  if (Buffer.from(task.batch.bytes).includes('"fill the arena"')) fillArena()
  return runReal(task)
}

/** Takes ever smaller blocks until there is none. */
function fillArena(): void {
  for (let bytes = 2 ** 28; bytes >= 256; bytes /= 2) {
    try {
      for (;;) arena.buffer(bytes - ARENA_SLACK)
    } catch (error) {
      assert(error instanceof ArenaFullError)
    }
  }
}
