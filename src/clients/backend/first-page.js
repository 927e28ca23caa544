// Where this library runs from its sources. In `dist`, the build has the bundle in this place.
export * from '../../../dist/clients/backend/first-page.js'
