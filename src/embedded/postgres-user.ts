/**
 * Which user PostgreSQL runs as: ourselves, except that it refuses to run as root. Then it runs
 * as the owner of the existing data, or as `postgres`, or as `nobody`; no user is ever created.
 */
import { readFileSync, statSync } from 'node:fs'
import { StoreError } from '../store/store-error.ts'

export interface RunAs {
  readonly uid: number
  readonly gid: number
}

const PASSWD = '/etc/passwd'
const CANDIDATES = ['postgres', 'nobody'] as const

/** Undefined: as ourselves. `pgData` need not exist. Throws `StoreError` when nobody fits. */
export function choosePostgresUser(pgData: string): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = ownerOf(pgData)
  if (owner !== undefined && owner.uid !== 0) return owner
  const users = new Map(readPasswd().map((entry) => [entry.name, entry]))
  for (const name of CANDIDATES) {
    const user = users.get(name)
    if (user !== undefined && user.uid !== 0) return { uid: user.uid, gid: user.gid }
  }
  throw new StoreError(
    'other',
    'PostgreSQL refuses to run as root and there is no user postgres or nobody to run it as; ' +
      'start Sluice as an ordinary user, or use --postgres-url',
  )
}

function ownerOf(path: string): RunAs | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : { uid: stat.uid, gid: stat.gid }
}

function readPasswd(): { name: string; uid: number; gid: number }[] {
  return readFileSync(PASSWD, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 7)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}
