internal import ArgumentParser
internal import EventLoop
internal import FerryClient
internal import Glibc
internal import JSON

/// The command `ferry top`.
struct TopCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Show the tasks in a live table.",
    discussion: """
      The table has the newest 1000 tasks. The keys j and k move. x cancels a task, s suspends, u resumes, r retries and d deletes \
      it. f shows failed tasks only, and q ends.
      """)
  private static let tick = Duration.milliseconds(500)

  private enum Input: Sendable {
    case stream(ServiceEvents.Element)
    case failed(ServiceError)
    case key(Character)
    case loaded([JSONValue])
    case message(String)
    case removed(String)
    case tick
    case interrupted
  }

  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    guard let screen = Screen() else {
      throw CommandFailure(
        .usage, "`ferry top` needs a terminal with a movable cursor; use `ferry ls` instead")
    }
    defer { screen.restore() }
    let (inputs, feed) = AsyncStream.makeStream(of: Input.self)
    let interrupts = Interrupts.first()
    let tasks = [
      Task {
        for await _ in interrupts {}; if !Task.isCancelled { feed.yield(.interrupted) }
      },
      Task {
        let events = connection.events(ServiceRequest("GET", "/v1/events"))
        do throws(ServiceError) { for try await element in events { feed.yield(.stream(element)) } } catch {
          feed.yield(.failed(error))
        }
      },
      Task {
        while !Task.isCancelled {
          feed.yield(.tick)
          try? await Task.sleep(for: Self.tick)
        }
      },
    ]
    defer { for task in tasks { task.cancel() } }
    screen.readKeys { feed.yield(.key($0)) }
    var table = TopTable()
    var hasConnected = false
    for await input in inputs {
      switch input {
      case .stream(.connected), .stream(.didReset):
        hasConnected = true
        Self.load(connection, feed)
      case .stream(.disconnected(let error)):
        guard hasConnected else { throw CommandFailure(error) }
        table.message = "\(error); trying again"
      case .stream(.event(let event)):
        if let json = try? JSONParser.parse(event.data, isLimited: false) { table.receive(json) }
        // The next tick draws the table.
        continue
      case .failed(let error): throw CommandFailure(error)
      case .loaded(let tasks): table.load(tasks)
      case .message(let text): table.message = text
      case .removed(let id): table.remove(id)
      case .tick: table.tick(at: Double(WallClock.microseconds()) / 1e6)
      case .interrupted: return
      case .key(let key):
        switch table.press(key) {
        case .quit?: return
        case .command(let name, let task)?: Self.send(name, task, on: connection, feed)
        case nil: break
        }
      }
      let size = Terminal.size(1)
      screen.draw(table.lines(columns: size.columns, height: size.rows, .output))
    }
  }

  private static func load(_ connection: ServiceConnection, _ feed: AsyncStream<Input>.Continuation) {
    Task {
      do throws(CommandFailure) {
        feed.yield(
          .loaded(try await connection.items("/v1/tasks", [("order", "newest")], upTo: TopTable.maximumRows)))
      } catch {
        feed.yield(.message(error.description))
      }
    }
  }

  private static func send(
    _ name: String, _ task: String, on connection: ServiceConnection, _ feed: AsyncStream<Input>.Continuation
  ) {
    Task {
      do throws(CommandFailure) {
        _ = try await connection.reply(.command(name, task: task))
        feed.yield(name == "delete" ? .removed(task) : .message("\(name): \(ShortID.of(task))"))
      } catch {
        feed.yield(.message(error.description))
      }
    }
  }
}
