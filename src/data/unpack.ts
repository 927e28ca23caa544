// The thread in which a first start unpacks its database. Its data is an empty folder; its exit code
// is 1 if there is no intact template.
import { workerData } from 'node:worker_threads'

import { unpackTemplate } from './template.ts'

process.exit(unpackTemplate(String(workerData)) ? 0 : 1)
