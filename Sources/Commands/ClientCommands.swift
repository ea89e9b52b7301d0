package import ArgumentParser

/// The commands that are clients of a service.
package enum ClientCommands {
  package static let all: [any ParsableCommand.Type] = [
    GetCommand.self, PutCommand.self, ListCommand.self, ShowCommand.self, WatchCommand.self, CatCommand.self,
    CancelCommand.self, SuspendCommand.self, ResumeCommand.self, RetryCommand.self, RemoveCommand.self,
    AnswerCommand.self, HooksCommand.self, EventsCommand.self, TopCommand.self, ContextCommand.self,
  ]
}
