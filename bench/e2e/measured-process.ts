/** A service under measurement as a child: what it prints is kept, and it does not outlive us. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

const STOP_MS_MAX = 60_000
const OUTPUT_CHARS_MAX = 64 * 1024

export interface MeasuredProcess {
  readonly child: ChildProcess
  /** Everything it printed, as far as it is kept, and why it could not be started. */
  output(): string
  /** Ends it if it runs; resolves when it is gone. */
  stop(): Promise<void>
}

export function startMeasured(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'detached'>,
): MeasuredProcess {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = collectOutput(child)
  const killOnExit = () => child.kill('SIGTERM')
  process.once('exit', killOnExit)
  const stop = async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await exited
      clearTimeout(timer)
    }
    process.off('exit', killOnExit)
  }
  return { child, output, stop }
}

function collectOutput(child: ChildProcess): () => string {
  let text = ''
  const append = (chunk: Buffer | string) => {
    if (text.length < OUTPUT_CHARS_MAX) text += chunk.toString()
  }
  child.stdout!.on('data', append)
  child.stderr!.on('data', append)
  child.once('error', (error) => append(String(error)))
  return () => text
}
