/** `bin/sluice` runs these on the service's own machine: this program knows only their names. */
export const OWN_MACHINE: Readonly<Record<string, string>> = {
  serve: 'Start the service itself; serve --help has its options.',
  backup: 'Everything that cannot be rebuilt into one file, while the service runs.',
  restore: 'A backup into a new data directory or an empty database.',
}
