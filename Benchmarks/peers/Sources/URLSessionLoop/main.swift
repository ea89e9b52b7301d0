import Commands

await carryOutCommands(with: URLSessionFetcher.self)
