/**
 * A view's name is taken only to those who see the view, which the store checks itself: a
 * constraint over all views of a stream told of views that are hidden.
 */
export const sql = `
ALTER TABLE stream_views DROP CONSTRAINT stream_views_stream_id_name_key;
CREATE INDEX stream_views_by_name ON stream_views (stream_id, name);
`
