import type { Route } from './route.ts'

/** Every REST route, in the order of the reference. */
export const ROUTES: readonly Route[] = []
