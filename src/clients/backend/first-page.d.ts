// The widget's views for Node, from `src/clients/first-page`. The build bundles them into one file,
// because they need packages that this library does not depend on.
import type { DrawElement, DrawFirstPage } from './drawing.ts'

export declare const drawElement: DrawElement
export declare const drawFirstPage: DrawFirstPage
