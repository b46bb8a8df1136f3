/**
 * Asks the registry for known vulnerabilities of what is installed at run time (`npm audit`).
 *
 *   node scripts/audit.mjs
 *
 * Ends with 1 when there is one, and with 0 when there is none. A registry that gives no answer (it
 * is away, has no such service, talks nonsense) says nothing about our packages: that is told, and
 * does not fail a build that changed nothing of them.
 */
import { spawn } from 'node:child_process'

/** All tries of npm together. */
const ANSWER_MS_MAX = Number(process.env.AUDIT_MS_MAX ?? 90_000)
const ARGS = ['audit', '--omit=dev', '--json', '--fetch-retries=1', '--fetch-timeout=30000']
/** Told of a failure; what is longer is npm's or a proxy's advice. */
const REASON_CHARS_MAX = 200

/**
 * What npm printed, judged: `clean`, `vulnerable` with a line for each package, or `unanswered`
 * with why. Only a whole report is an answer.
 */
function judge(stdout) {
  let report
  try {
    report = JSON.parse(stdout)
  } catch {
    return { kind: 'unanswered', reason: 'npm printed no report' }
  }
  const total = report?.metadata?.vulnerabilities?.total
  if (report?.auditReportVersion === undefined || !Number.isInteger(total)) {
    const reason = report?.message ?? report?.error?.summary ?? 'npm printed no report'
    return { kind: 'unanswered', reason: firstLine(String(reason)) }
  }
  if (total === 0) return { kind: 'clean' }
  const lines = Object.values(report.vulnerabilities ?? {}).map(
    ({ name, severity, range, via }) => {
      const titles = (via ?? []).map((one) => (typeof one === 'string' ? `by ${one}` : one.title))
      return `${name} ${range}: ${severity}, ${titles.join('; ')}`
    },
  )
  return { kind: 'vulnerable', lines }
}

function firstLine(text) {
  return text.split('\n', 1)[0].slice(0, REASON_CHARS_MAX)
}

/** What npm printed to stdout; undefined when it did not end in time. Rejects without npm. */
function runNpm() {
  const npmScript = process.env.npm_execpath
  const isScript = npmScript !== undefined && /\.c?js$/.test(npmScript)
  const [command, ...args] = isScript ? [process.execPath, npmScript, ...ARGS] : ['npm', ...ARGS]
  // A group of its own: npm may be a script around the process that waits.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  return new Promise((resolve, reject) => {
    let stdout = ''
    const timer = setTimeout(() => {
      process.kill(-child.pid, 'SIGKILL')
      resolve(undefined)
    }, ANSWER_MS_MAX)
    child.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.on('close', () => {
      clearTimeout(timer)
      resolve(stdout)
    })
  })
}

const stdout = await runNpm()
const verdict =
  stdout === undefined
    ? { kind: 'unanswered', reason: `no answer within ${ANSWER_MS_MAX / 1000} s` }
    : judge(stdout)
if (verdict.kind === 'clean') console.log('audit: no known vulnerability')
else if (verdict.kind === 'unanswered') {
  console.log(`audit: NOT CHECKED, the registry gave no answer: ${verdict.reason}`)
} else {
  console.error('audit: known vulnerabilities')
  for (const line of verdict.lines) console.error(`  ${line}`)
  process.exitCode = 1
}
