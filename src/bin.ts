// `engagement-service` starts the service. With arguments it runs a command of the CLI.
process.setSourceMapsEnabled(true)

if (process.argv.length > 2) void import('./cli/guard.ts')
else void import('./main.ts')
