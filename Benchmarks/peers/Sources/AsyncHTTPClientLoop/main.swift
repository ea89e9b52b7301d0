import Commands

await carryOutCommands(with: AsyncHTTPClientFetcher.self)
