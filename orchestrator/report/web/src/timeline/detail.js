// detail.js - single operations of a window, from a file beside the page.
//
// timeline.js is a script, because a page that was opened from disk may load no
// other file. It calls jobprof.detail.

export function drawDetail() {}
export const detailNote = () => '';
