/**
 * How many days the active readers of an hour are known by their ids. Afterwards their number stays
 * as it is: a comment that is deleted later takes its author out of the day, not out of the hour.
 */
export const HOURS_KEPT_DAYS = 35
