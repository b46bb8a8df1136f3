#!/usr/bin/env node
/** Entry of the command line: see `cli/commands.ts`. */
import { main } from './cli/commands.ts'

process.exitCode = await main(process.argv.slice(2), process.env)
