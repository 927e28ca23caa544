// The thread in which a first start unpacks its database; its data is an empty folder.
import { workerData } from 'node:worker_threads'

import { NO_TEMPLATE, unpackTemplate } from './template.ts'

process.exit(unpackTemplate(String(workerData)) ? 0 : NO_TEMPLATE)
