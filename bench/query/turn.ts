/** Measures while another command says that the machine is ours. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs `measure` while `command` runs. The command runs its arguments when it is our turn, as a
 * lock that measurements share does; without one nobody is asked.
 */
export async function takeTurn<T>(
  command: string | undefined,
  measure: () => Promise<T>,
): Promise<T> {
  if (command === undefined) return measure()
  // Says that it runs, and ends with our end of its input.
  const child = spawn(command, ['sh', '-c', 'echo go; read end'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exited])
  try {
    return await measure()
  } finally {
    child.stdin.end()
    await exited
  }
}
