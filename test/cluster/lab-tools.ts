/** What a cluster of tests is made of: a compiled host of the engine, and ZooKeeper. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface LabTools {
  readonly host: string
  readonly library: string
  /** A class path. */
  readonly jars: string
}

const SOURCES = fileURLToPath(new URL('../../../test/cluster/', import.meta.url))
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))
const ARTIFACTS = 'zookeeper,zookeeper-jute,slf4j-api,snappy-java,metrics-core'
const TOOLS = ['cc', 'java', 'mvn']
const BUILD_MS_MAX = 180_000

/** Why there can be no such cluster here, for `skip`; false where there can. */
export function noClusterLab(): string | false {
  const { platform, arch } = process
  if (`${platform}-${arch}` !== 'linux-x64') return `a cluster of tests needs linux-x64`
  const missing = TOOLS.filter((tool) => !isThere(tool))
  return missing.length > 0 && `a cluster of tests needs ${missing.join(', ')}`
}

function isThere(tool: string): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, tool)))
}

/** Made once; throws what the tools say. */
export function prepareLab(): LabTools {
  const files = ['chhost.c', 'offsets.h', 'zookeeper.pom.xml']
  const digest = createHash('sha256')
  for (const file of files) digest.update(readFileSync(join(SOURCES, file)))
  const home = join(CACHE, `cluster-lab-${digest.digest('hex').slice(0, 12)}`)
  if (!existsSync(home)) build(home)
  const package_ = createRequire(import.meta.url).resolve('@chdb/lib-linux-x64-gnu/package.json')
  return {
    host: join(home, 'chhost'),
    library: join(dirname(package_), 'libchdb.so'),
    jars: readdirSync(home)
      .filter((name) => name.endsWith('.jar'))
      .map((name) => join(home, name))
      .join(':'),
  }
}

/** Under another name until it is whole: test files run side by side. */
function build(home: string): void {
  const making = `${home}.${process.pid}`
  mkdirSync(making, { recursive: true })
  const run = (program: string, args: readonly string[]) => {
    execFileSync(program, args, { cwd: SOURCES, stdio: 'pipe', timeout: BUILD_MS_MAX })
  }
  run('cc', ['-O1', '-Wall', '-Wextra', '-o', join(making, 'chhost'), 'chhost.c', '-ldl'])
  run('mvn', [
    ...['-q', '-B', '-f', 'zookeeper.pom.xml', 'dependency:copy-dependencies'],
    ...[`-DoutputDirectory=${making}`, `-DincludeArtifactIds=${ARTIFACTS}`],
  ])
  try {
    renameSync(making, home)
  } catch (cause) {
    if (!existsSync(home)) throw cause
  }
}
