/** The number of shards that nodes divide among themselves: enough for tens of nodes to have about the same share. */
export const shardCount = 256;

/** The shard of an instance, 0 … 255: FNV-1a of its id (http://www.isthe.com/chongo/tech/comp/fnv/), the same on every node. */
export function shardOf(instanceId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < instanceId.length; index += 1) {
    hash = Math.imul(hash ^ instanceId.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % shardCount;
}
