/** Returns the folders of the packages that these files, which are below the root, belong to. */
export function packageFolders(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap(folderOf))].toSorted();
}

/** `node_modules/a/node_modules/@b/c` of a file below it. */
function folderOf(path: string): readonly string[] {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
}
