#!/usr/bin/env node
// `engagement-service` starts the service. With arguments it runs that command of the CLI.
process.setSourceMapsEnabled(true)

if (process.argv.length > 2) await import('./cli/cli.ts')
else await import('./main.ts')
