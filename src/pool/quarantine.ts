/**
 * Keeps the bytes of a batch that killed a worker twice, for a post-mortem. Files are private
 * (0600), few and bounded: an attacker who found such a batch must not fill the disk with it.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PoolTask } from './messages.ts'

/** Files kept; later ones are only counted. */
const FILES_MAX = 16

/** Writes the task's input under `directory`; returns the file, or undefined when it is full. */
export function quarantineTask(
  directory: string,
  task: PoolTask,
  nowMs: number,
): string | undefined {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (readdirSync(directory).length >= FILES_MAX) return undefined
  const file = join(directory, `${new Date(nowMs).toISOString().replaceAll(':', '')}-${task.kind}`)
  writeFileSync(file, bytesOf(task), { mode: 0o600, flag: 'wx' })
  return file
}

function bytesOf(task: PoolTask): Uint8Array {
  if (task.kind === 'ingest') return Uint8Array.from(task.batch.bytes)
  if (task.kind === 'replay') return task.payload
  if (task.kind === 'compact') return Buffer.concat(task.payloads)
  if (task.kind === 'preview') return Buffer.from(task.sample.text)
  // Several reads may share a payload.
  return Buffer.concat([...new Set(task.reads.map((read) => read.payload))])
}
