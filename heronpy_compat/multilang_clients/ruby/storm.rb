# Spouts and bolts in Ruby as children that speak Storm's multi-lang protocol over JSON.
#
#   require "storm"
#
#   class Split < Storm::Bolt
#     def process(tup)
#       tup.values[0].split.each { |word| emit([word], anchor: tup) }
#       ack(tup)
#     end
#   end
#
#   Split.new.run
#
# What is put to stdout would be taken for a message, so `log` it.

require "json"

module Storm
  LEVELS = { trace: 0, debug: 1, info: 2, warn: 3, error: 4 }.freeze

  # The parent has closed our stdin: it wants us to end.
  class EndOfInput < StandardError; end

  # What a child reads and says.
  module Protocol
    @commands = []
    @task_ids = []

    class << self
      attr_accessor :mode
      attr_reader :commands, :task_ids
    end

    def read_message
      lines = []
      loop do
        line = $stdin.gets
        raise EndOfInput if line.nil?

        line = line.chomp
        return JSON.parse(lines.join("\n")) if line == "end"

        lines << line
      end
    end

    def read_task_ids
      Protocol.task_ids.shift || begin
        message = read_message
        until message.is_a?(Array)
          Protocol.commands << message
          message = read_message
        end
        message
      end
    end

    def read_command
      Protocol.commands.shift || begin
        message = read_message
        while message.is_a?(Array)
          Protocol.task_ids << message
          message = read_message
        end
        message
      end
    end

    def send_msg_to_parent(message)
      $stdout.write("#{JSON.generate(message)}\nend\n")
      $stdout.flush
    end

    def sync
      send_msg_to_parent({ command: :sync })
    end

    def send_pid(folder)
      send_msg_to_parent({ pid: Process.pid })
      File.open(File.join(folder, Process.pid.to_s), "w").close
    end

    def handshake
      setup = read_message
      send_pid(setup["pidDir"])
      [setup["conf"], setup["context"]]
    end

    # Options: stream, direct, need_task_ids; of a bolt anchor or anchors, of a spout id.
    def emit(values, options = {})
      Protocol.mode == :spout ? emit_spout(values, options) : emit_bolt(values, options)
    end

    def emit_bolt(values, options = {})
      given = options[:anchors] || options[:anchor] || []
      anchors = given.is_a?(Array) ? given : [given]
      emit_message({ anchors: anchors.map(&:id) }, values, options)
    end

    def emit_spout(values, options = {})
      emit_message(options[:id].nil? ? {} : { id: options[:id] }, values, options)
    end

    def ack(tuple)
      send_msg_to_parent({ command: :ack, id: tuple.id })
    end

    def fail(tuple)
      send_msg_to_parent({ command: :fail, id: tuple.id })
    end

    def reportError(message)
      send_msg_to_parent({ command: :error, msg: message.to_s })
    end

    def log(message, level = LEVELS[:info])
      send_msg_to_parent({ command: :log, msg: message.to_s, level: level })
    end

    def logTrace(message) = log(message, LEVELS[:trace])
    def logDebug(message) = log(message, LEVELS[:debug])
    def logInfo(message) = log(message, LEVELS[:info])
    def logWarn(message) = log(message, LEVELS[:warn])
    def logError(message) = log(message, LEVELS[:error])

    def metrics(name, params)
      send_msg_to_parent({ command: :metrics, name: name, params: params })
    end

    # Of a spout: nothing more is to come (an extension that Storm does not know).
    def finish
      send_msg_to_parent({ command: :finish })
    end

    private

    def emit_message(message, values, options)
      message.update(command: :emit, tuple: values, need_task_ids: options[:need_task_ids] || false)
      message[:stream] = options[:stream] if options[:stream]
      message[:task] = options[:direct] if options[:direct]
      send_msg_to_parent(message)
      read_task_ids if options[:need_task_ids] && !options[:direct]
    end

    def run_until_end(mode)
      Protocol.mode = mode
      yield(*handshake)
      loop { turn }
    rescue EndOfInput
      nil
    rescue StandardError => e
      reportError("#{e.class}: #{e.message}\n#{(e.backtrace || []).join("\n")}")
      exit(1)
    end
  end

  # A tuple that a bolt got.
  class Tuple
    attr_accessor :id, :component, :stream, :task, :values

    def initialize(id, component, stream, task, values)
      @id = id
      @component = component
      @stream = stream
      @task = task
      @values = values
    end

    def self.from_hash(hash)
      new(*hash.values_at("id", "comp", "stream", "task", "tuple"))
    end

    def is_heartbeat
      task == -1 && stream == "__heartbeat"
    end

    def is_tick
      task == -1 && stream == "__tick"
    end
  end

  # Acks its tuples itself.
  class Bolt
    include Storm::Protocol

    def prepare(conf, context); end

    def process(tuple); end

    def run
      run_until_end(:bolt) { |conf, context| prepare(conf, context) }
    end

    private

    def turn
      tuple = Tuple.from_hash(read_command)
      tuple.is_heartbeat ? sync : process(tuple)
    end
  end

  # A source of tuples.
  class Spout
    include Storm::Protocol

    def open(conf, context); end

    def activate; end

    def deactivate; end

    def nextTuple; end

    def ack(id); end

    def fail(id); end

    def run
      run_until_end(:spout) { |conf, context| self.open(conf, context) }
    end

    private

    def turn
      message = read_command
      case message["command"]
      when "next" then nextTuple
      when "ack" then ack(message["id"])
      when "fail" then fail(message["id"])
      when "activate" then activate
      when "deactivate" then deactivate
      end
      sync
    end
  end
end
