// The types that packages of components export beside their components.
export type { EngagementElement, Identity, Texts } from './elements.ts'
export type { ListEvents, SignedInReader, ThreadEvents } from './events.ts'
