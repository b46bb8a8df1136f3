/** Senders for Python: installed for the test, where there is a Python with pip. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const INSTALL_MS_MAX = 180_000

export type RunPython = (script: string, args?: readonly string[]) => Promise<string>

/** Undefined, and the test is skipped with the reason, where they cannot be had. */
export async function pythonWith(
  t: TestContext,
  requirements: readonly string[],
): Promise<RunPython | undefined> {
  const packages = mkdtempSync(join(tmpdir(), 'sluice-python-'))
  t.after(() => rmSync(packages, { recursive: true, force: true }))
  const install = ['-m', 'pip', 'install', '--quiet', '--target', packages, ...requirements]
  try {
    await run('python3', requirements.length > 0 ? install : ['--version'], {
      timeout: INSTALL_MS_MAX,
    })
  } catch (cause) {
    t.skip(`no Python with ${requirements.join(', ')} here: ${String(cause).slice(0, 300)}`)
    return undefined
  }
  const env = { ...process.env, PYTHONPATH: packages }
  return async (script, args = []) => {
    return (await run('python3', ['-c', script, ...args], { env })).stdout
  }
}
