/**
 * Options of a client of node-redis, which share a class with others of that kind. node-redis makes a
 * class of all commands of Redis for each client whose options have another JSON than those of the last
 * one, and a cluster makes several clients. With a class for each, a file of tests took 6 s of processor
 * time, most of it for them. A sentinel needs classes of its own, with a module beside the commands.
 */
export function oneClass<Options extends object>(options: Options): Options {
  return { ...options, toJSON: () => "a client of a test" };
}
