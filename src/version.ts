/** Sluice's version, from package.json. */
import { createRequire } from 'node:module'

const manifest: unknown = createRequire(import.meta.url)('../../package.json')

export const version = String((manifest as { readonly version?: unknown }).version)
