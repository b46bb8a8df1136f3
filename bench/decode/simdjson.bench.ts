import { BenchSkipped, type MicroBench } from '../bench.ts'

interface Simdjson {
  isValid(text: string): boolean
  parse(text: string): unknown
}

/** The package compiles at install, so it is never a dependency: measured only where it exists. */
async function importSimdjson(): Promise<Simdjson> {
  // A variable, so that the compiler does not look for a package that is not installed.
  const packageName = 'simdjson'
  try {
    const module: { default: Simdjson } = await import(packageName)
    return module.default
  } catch {
    throw new BenchSkipped('simdjson is not installed (npm install --no-save simdjson)')
  }
}

export const simdjsonIsValid: MicroBench = {
  name: 'decode/simdjson-is-valid',
  title: 'simdjson isValid, no objects',
  kind: 'json',
  prepare: async ({ lines }) => {
    const simdjson = await importSimdjson()
    return () => {
      let valid = 0
      for (const line of lines) if (simdjson.isValid(line)) valid++
      return valid
    }
  },
}

export const simdjsonParse: MicroBench = {
  name: 'decode/simdjson-parse',
  title: 'simdjson parse',
  kind: 'json',
  prepare: async ({ lines }) => {
    const simdjson = await importSimdjson()
    return () => {
      let objects = 0
      for (const line of lines) if (simdjson.parse(line) !== null) objects++
      return objects
    }
  },
}
