/** JSON by positions, every digit kept: the command line shares it. */
export * from '../../src/cli/events/exact-json.ts'
